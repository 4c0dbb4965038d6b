# What tests of a queue that replicas share are given: a real server, on a socket of its own, and a connection to it.

from collections.abc import Iterator

import pytest
import redis
from servers.redis_server import RedisServer


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(own: RedisServer) -> "Iterator[redis.Redis[bytes]]":
    with own.connection() as connection:
        yield connection
