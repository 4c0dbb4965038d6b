# The admin API of a running proxy, called over TCP or a unix socket.
#
# Rule 1: no event loop: a command makes one or two short calls.
# Rule 2: whatever goes wrong becomes a Failure with one sentence that says what to do.

import http.client
import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proxy.cli.failure import BadConfig, Failure
from proxy.config import BaseUrl

_PATIENCE_S = 30.0  # for one answer; a write waits for the disk
_MOST = 64 * 1024**2  # bytes of one answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Calls return the answer's JSON, None where it has no body; Failure says what the proxy said instead."""

    at: BaseUrl | Path
    token: str | None = field(default=None, repr=False)

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

    def _call(self, method: str, path: tuple[str, ...], *, query: str = "", body: object = None) -> Any:
        base = "" if isinstance(self.at, Path) else self.at.path
        target = base + "".join(f"/{quote(part, safe='')}" for part in path) + query
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            response, content = self._exchange(
                method, target, headers, None if body is None else json.dumps(body).encode()
            )
        except (ConnectionRefusedError, FileNotFoundError):
            raise Failure("not_running", f"the proxy is not running at {self}; start it with: slotgate serve") from None
        except TimeoutError:
            raise Failure("no_answer", f"the proxy at {self} does not answer") from None
        except (OSError, http.client.HTTPException) as error:
            raise Failure("unreachable", f"the proxy cannot be reached at {self}: {_why(error)}") from None
        if response.getheader("X-Slotgate-Error") is not None:
            words = f"clients connect at {self}; the admin API is elsewhere, by default at http://127.0.0.1:8788"
            raise Failure("not_admin", words)
        return self._read(response.status, content)

    def _exchange(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connection()
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return response, response.read(_MOST)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if isinstance(self.at, BaseUrl):
            made = http.client.HTTPSConnection if self.at.tls else http.client.HTTPConnection
            return made(self.at.host, self.at.port, timeout=_PATIENCE_S)
        connection = http.client.HTTPConnection("localhost", timeout=_PATIENCE_S)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # it connects by itself only without one
        try:
            connection.sock.settimeout(_PATIENCE_S)
            connection.sock.connect(str(self.at))
        except OSError:
            connection.close()
            raise
        return connection

    def _read(self, status: int, content: bytes) -> Any:
        try:
            answer = json.loads(content) if content else None
        except ValueError:
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
        raise Failure("not_slotgate", f"what answers at {self} is not slotgate's admin API (status {status})")


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
