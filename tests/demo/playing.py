# A demo that runs: the real command in a strange place, and what it tells.
#
# Rule 1: whatever a test does, nothing is left running.
# Rule 2: nothing of the machine it runs on helps it: no configuration, no home, a folder `proxy` beside it.

import http.client
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 60.0

Document = dict[str, Any]


class Playing:
    """One demo with --json; `told` are the documents that were read so far, `temporary` is where it may put files."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.temporary = folder / "tmp"
        stands_in = folder / "here"
        (stands_in / "proxy").mkdir(parents=True)
        (stands_in / "proxy" / "__main__.py").write_text("raise SystemExit('the wrong package')")
        (stands_in / "proxy" / "__init__.py").touch()
        self.temporary.mkdir()
        self.told: list[Document] = []
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "proxy", "demo", "--json", *arguments],
            cwd=stands_in,
            env={
                **os.environ,
                "HOME": str(folder / "nobody"),
                "SLOTGATE_CONFIG": str(folder / "missing.yaml"),
                "TMPDIR": str(self.temporary),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> "Playing":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()  # so that its child goes, too
            self.process.wait(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def until(self, *wanted: Callable[[Document], object]) -> Document:
        """Reads until there was one of each of the wanted; the last of what was read."""
        missing = [each for each in wanted if not any(map(each, self.told))]
        while missing:
            document = self._next()
            missing = [each for each in missing if not each(document)]
        return self.told[-1]

    def ready(self) -> Document:
        self.until(lambda document: document["event"] == "ready")
        return self.told[0]

    def rest(self) -> str:
        """Reads to its end; what it said on stderr."""
        out, error = self.process.communicate(timeout=PATIENCE_S)
        self.told += map(json.loads, out.decode().splitlines())
        return str(error.decode())

    def stop(self, number: int = signal.SIGINT) -> int:
        """Ends it; its exit status. It has nothing to say on stderr."""
        self.process.send_signal(number)
        assert self.rest() == ""
        return self.process.returncode

    def summary(self) -> Document:
        [summary] = [document for document in self.told if document.get("event") == "summary"]
        return summary

    def left_behind(self) -> list[str]:
        """What is still there of it."""
        ready = self.told[0]
        left = [str(path) for path in self.temporary.iterdir()]
        return left + [url for url in (ready["admin"], ready["clients"]) if answers(url)]

    def _next(self) -> Document:
        assert self.process.stdout is not None
        end_at = time.monotonic() + PATIENCE_S
        line = b""
        while not line.endswith(b"\n"):
            left_s = max(0.0, end_at - time.monotonic())
            assert select.select([self.process.stdout], [], [], left_s)[0], f"nothing more after {self.told[-5:]}"
            more = os.read(self.process.stdout.fileno(), 1)
            assert more, f"it ended after {self.told[-5:]}"
            line += more
        document: Document = json.loads(line)
        self.told.append(document)
        return document


def event(name: str, **more: object) -> Callable[[Document], bool]:
    """Whether a document is of this kind, with these members."""
    wanted = {"event": name, **more}.items()
    return lambda document: document.items() >= wanted


def answers(url: str) -> bool:
    try:
        call(url, "GET", "/")
    except OSError:
        return False
    return True


def call(url: str, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    host = urlsplit(url).netloc
    connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
    try:
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
