# An admin API that says what a test tells it to, and remembers what it was asked.

import json
import socketserver
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import click.testing

Run = Callable[..., click.testing.Result]

CONFIG = {
    "upstreams": {
        "umans": {"url": "https://api.code.umans.ai", "provider": "api.code.umans.ai"},
        "local": {"url": "http://127.0.0.1:8000", "provider": "127.0.0.1:8000"},
    }
}


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Api:
    """`answers` by "METHOD /path": status and JSON (None: no body), or bytes. `headers` stand in each of them."""

    url: str
    answers: dict[str, tuple[int, Any]] = field(default_factory=lambda: {"GET /config": (200, CONFIG)})
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    @property
    def last(self) -> Asked:
        return self.asked[-1]


def handler(api: Callable[[], Api]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            api().asked.append(Asked(self.command, self.path, dict(self.headers), body))
            missing = (404, {"error": {"code": "not_found", "message": "no such thing"}})
            status, answer = api().answers.get(f"{self.command} {self.path}", missing)
            content = answer if isinstance(answer, bytes) else b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in api().headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the library looks for these

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self) -> Any:
        return self.socket.accept()[0], ("unix", 0)  # the handler wants a host and a port
