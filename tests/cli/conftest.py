# The command line, run against an admin API that a test makes up.

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import ThreadingHTTPServer
from pathlib import Path

import click.testing
import pytest
from fake_admin_api import Api, Run, UnixServer, handler

from proxy.cli import cli


@pytest.fixture
def serving() -> Iterator[Callable[[socketserver.BaseServer], None]]:
    """Serves in a thread until the test's end."""
    with ExitStack() as stack:

        def start(server: socketserver.BaseServer) -> None:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.server_close)
            stack.callback(server.shutdown)

        yield start


@pytest.fixture
def api(serving: Callable[[socketserver.BaseServer], None]) -> Api:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(lambda: made))
    made = Api(url=f"http://127.0.0.1:{server.server_port}")
    serving(server)
    return made


@pytest.fixture
def unix_api(serving: Callable[[socketserver.BaseServer], None], tmp_path: Path) -> Api:
    made = Api(url=f"unix:{tmp_path / 'admin.sock'}")
    serving(UnixServer(str(tmp_path / "admin.sock"), handler(lambda: made)))
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in an empty home: no configuration, no SLOTGATE_* variable but those that are given."""
    for name in ("SLOTGATE_CONFIG", "SLOTGATE_ADMIN", "SLOTGATE_TOKEN_FILE", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("SLOTGATE_CONFIG", "")

    def run(*arguments: str, **env: str) -> click.testing.Result:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        result = click.testing.CliRunner().invoke(cli, arguments, prog_name="slotgate")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run
