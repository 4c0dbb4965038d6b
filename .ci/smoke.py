# Starts the proxy as the README says (`make serve`), sends one request through it, asks it with the commands of the
# README, and ends it. Exits with a traceback where something is not as it should be.
# ruff: noqa: S603, S607 what is started here is ours

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

START_S = 60.0
ANSWER = b'data: {"n": 1}\n\ndata: [DONE]\n\n'


class Provider(BaseHTTPRequestHandler):
    """A provider of which only the answer matters."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_: object) -> None:
        pass


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def call(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def slotgate(*arguments: str) -> str:
    done = subprocess.run([".venv/bin/slotgate", *arguments], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


@contextlib.contextmanager
def served(config: Path, admin: int) -> Iterator[subprocess.Popen[bytes]]:
    """`make serve`, from ready to killed at the latest."""
    process = subprocess.Popen(["make", "serve", f"ARGS=--config {config}"], start_new_session=True)
    try:
        end_at = time.monotonic() + START_S
        while True:
            with contextlib.suppress(OSError):
                if call(admin, "GET", "/readyz")[0] == 200:
                    break
            assert process.poll() is None, "make serve ended"
            assert time.monotonic() < end_at, "make serve is not ready"
            time.sleep(0.1)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> None:
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    clients, admin = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "slotgate.yaml"
        config.write_text(
            f"listen: 127.0.0.1:{clients}\n"
            f"admin: {{listen: 127.0.0.1:{admin}}}\n"
            f"state: {folder}/state.db\n"
            f"upstreams: {{test: {{url: 'http://127.0.0.1:{provider.server_port}', limit: 2}}}}\n"
        )
        slotgate("check", "--config", str(config))
        with served(config, admin) as process:
            assert call(clients, "POST", "/test/v1/chat/completions", b"{}") == (200, ANSWER)
            slotgate("limit", "test", "3", "--config", str(config))
            shown = json.loads(slotgate("status", "--json", "--config", str(config)))
            [entry] = [entry for entry in shown["providers"] if entry["limit"] is not None]
            assert entry["limit"] == 3, entry
            process.terminate()  # make passes it on
            process.wait(timeout=40)
    provider.shutdown()
    print("the proxy served a request, took an order, and ended when told to")


if __name__ == "__main__":
    sys.exit(main())
