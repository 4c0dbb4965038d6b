# The admin API of a running proxy, called over TCP or a unix socket.
#
# Rule 1: no event loop: a command makes one or two short calls, or reads one stream.
# Rule 2: whatever goes wrong becomes a Failure with one sentence that says what to do.
# Rule 3: an answer is waited for as a whole: one that trickles is none either.
# Rule 4: a write says that it comes from here, so that the audit does too.

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proxy.cli.failure import BadConfig, Failure
from proxy.config import BaseUrl

PATIENCE_S = 30.0  # for one whole answer; a write waits for the disk
_MOST = 64 * 1024**2  # bytes of one answer
_PART = 64 * 1024  # bytes of a stream at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Calls return the answer's JSON, None where it has no body; Failure says what the proxy said instead."""

    at: BaseUrl | Path
    token: str | None = field(default=None, repr=False)
    patience_s: float = field(default_factory=lambda: PATIENCE_S)

    def __str__(self) -> str:
        return f"unix:{self.at}" if isinstance(self.at, Path) else str(self.at)

    def get(self, *path: str, query: str = "") -> Any:
        """`path` are its parts, not yet percent-encoded."""
        return self._call("GET", path, query=query)

    def put(self, *path: str, body: object) -> Any:
        return self._call("PUT", path, body=body)

    def post(self, *path: str) -> Any:
        return self._call("POST", path)

    def delete(self, *path: str) -> Any:
        return self._call("DELETE", path)

    def text(self, *path: str, query: str = "") -> str:
        """A good answer that is no JSON."""
        response, content = self._asked("GET", self._target(path, query), {})
        if response.status != 200:
            self._read(response, content)
        return content.decode("utf-8", "replace")

    @contextmanager
    def stream(self, *path: str, media: str, headers: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        """The parts of an answer of this media type as they come, until it ends. Failure when there is none for
        `patience_s`, or the connection breaks."""
        with self._told():
            connection = self._connection()
        with closing(connection):
            with self._told(), self._in_time(connection.sock):
                connection.request("GET", self._target(path, ""), headers={**self._headers(), **headers})
                response = connection.getresponse()
            with response:
                if response.status != 200 or response.headers.get_content_type() != media:
                    with self._told(), self._in_time(connection.sock):
                        content = response.read(_MOST)
                    self._read(response, content)
                    raise self._stranger(response)
                yield self._parts(response)

    def _parts(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        while True:
            with self._told():
                part = response.read1(_PART)
            if not part:
                return
            yield part

    def _call(self, method: str, path: tuple[str, ...], *, query: str = "", body: object = None) -> Any:
        headers = {"Accept": "application/json"}
        if method != "GET":
            headers["X-Slotgate-Client"] = "cli"
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = None if body is None else json.dumps(body).encode()
        return self._read(*self._asked(method, self._target(path, query), headers, content))

    def _asked(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        with self._told(), closing(self._connection()) as connection, self._in_time(connection.sock):
            connection.request(method, target, body, {**self._headers(), **headers})
            with connection.getresponse() as response:
                return response, response.read(_MOST)

    def _target(self, path: tuple[str, ...], query: str) -> str:
        base = "" if isinstance(self.at, Path) else self.at.path
        return base + "".join(f"/{quote(part, safe='')}" for part in path) + query

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong with a connection within it, in our words."""
        try:
            yield
        except (ConnectionRefusedError, FileNotFoundError):
            raise Failure("not_running", f"the proxy is not running at {self}; start it with: slotgate serve") from None
        except TimeoutError:
            raise Failure("no_answer", f"the proxy at {self} does not answer") from None
        except (OSError, http.client.HTTPException) as error:
            raise Failure("unreachable", f"the proxy cannot be reached at {self}: {_why(error)}") from None

    @contextmanager
    def _in_time(self, connected: socket.socket) -> Iterator[None]:
        """What takes longer than `patience_s` within it is a TimeoutError; a socket's own time-out begins anew with
        each byte."""
        late = threading.Event()

        def end() -> None:
            late.set()
            with suppress(OSError):  # it has ended just now
                socket.socket.shutdown(connected, socket.SHUT_RDWR)  # TLS' own is not for another thread

        timer = threading.Timer(self.patience_s, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, ValueError, http.client.HTTPException):
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():
            raise TimeoutError

    def _connection(self) -> http.client.HTTPConnection:
        if isinstance(self.at, BaseUrl):
            made = http.client.HTTPSConnection if self.at.tls else http.client.HTTPConnection
            connection = made(self.at.host, self.at.port, timeout=self.patience_s)
            connection.connect()
            return connection
        connection = http.client.HTTPConnection("localhost", timeout=self.patience_s)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # it connects by itself only without one
        try:
            connection.sock.settimeout(self.patience_s)
            connection.sock.connect(str(self.at))
        except OSError:
            connection.close()
            raise
        return connection

    def _read(self, response: http.client.HTTPResponse, content: bytes) -> Any:
        if response.getheader("X-Slotgate-Error") is not None:
            words = f"clients connect at {self}; the admin API is elsewhere, by default at http://127.0.0.1:8788"
            raise Failure("not_admin", words)
        status = response.status
        try:
            answer = json.loads(content) if content else None
        except (ValueError, RecursionError):
            answer = content
        if status == 401:
            lack = "does not accept this token" if self.token else "needs a token"
            raise Failure("unauthorized", f"the proxy at {self} {lack}: --token-file PATH, or $SLOTGATE_TOKEN_FILE")
        match answer:
            case {"error": {"code": str(code), "message": str(message)}, **more} if status >= 400:
                errors = more.get("errors")
                if isinstance(errors, list):
                    raise BadConfig(error["message"] for error in errors)
                raise Failure(code, message, status=status)
            case None | dict() if 200 <= status < 300:
                return answer
        raise self._stranger(response)

    def _stranger(self, response: http.client.HTTPResponse) -> Failure:
        words = f"what answers at {self} is not slotgate's admin API (status {response.status})"
        return Failure("not_slotgate", words)


def _why(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead | http.client.RemoteDisconnected):
        return "it has ended the connection"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
