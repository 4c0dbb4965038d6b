# What these tests are given: a real server, on a socket of its own, without persistence.

from collections.abc import Iterator

import pytest
import redis
from servers.redis_server import RedisServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["redis.Redis[bytes]"]:
    """A connection to an empty server."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server, server.connection() as connection:
        yield connection
