# What these tests are given: a real server, on a socket of its own, without persistence.

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import redis


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["redis.Redis[bytes]"]:
    """A connection to an empty server."""
    command = shutil.which("redis-server")
    if command is None:
        assert not os.environ.get("EVERY_TEST"), "redis-server is missing"
        pytest.skip("redis-server is missing")
    path = tmp_path_factory.mktemp("redis") / "redis.sock"
    arguments = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"]
    with subprocess.Popen(
        [command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            while "eady to accept" not in (line := process.stdout.readline()):
                assert line, "it did not start"
            with redis.Redis(unix_socket_path=str(path)) as connection:
                yield connection
        finally:
            process.kill()
