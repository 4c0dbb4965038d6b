# The server that keeps the shared state: how it is reached, what is asked of it, and what went wrong, in words.
#
# Rule 1: nothing is tried twice here: whether a call may be repeated is known to who makes it.
# Rule 2: a foreign error becomes an Away once, by `away`; what it says holds no password and no query.
# Rule 3: a connection whose command was given up is closed, by redis-py: no reply is ever taken for another one's.

import asyncio
import os
import random
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    InvalidResponse,
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import TimeoutError as TimedOut

from proxy.config.redis_url import names_of, parse_redis_url
from proxy.errors import SlotgateError

CONNECT_TIMEOUT_S = 2.0  # to a server in the same network; a new attempt costs nothing
# A command of ours takes milliseconds. A server that forks, or whose machine swaps, may stall for seconds and be right
# again; one that is silent for longer than this is as good as gone, while a lease still has 5 of its 15 s left.
COMMAND_TIMEOUT_S = 10.0
OLDEST = (7, 0)  # whose scripts are replicated by their effects, and that takes several sections of INFO
CLIENT_NAME = "slotgate"  # what CLIENT LIST shows
_RESP = 2  # RESP3 may put pushed messages between replies; a subscription has its own connection here
# Not told: the server has no use for it, and newer versions look it up on the disk for each connection.
_LIBRARY = ("driver_info",) if find_spec("redis.driver_info") else ("lib_name", "lib_version")
_SHOWN = 200  # characters of what the server says

Client: TypeAlias = Redis | RedisCluster
FAILURES = (RedisError, RedisClusterException, OSError)  # what a call may raise, for `Server.away`


class Away(SlotgateError):
    """The server cannot be reached, or will not do what it is asked: one sentence with the place, without a secret."""


class Server:
    """Where the state lies. `name` is the URL without credentials and query; every key and channel begins with
    `prefix`. ValueError: what is wrong with the URL, and what is allowed."""

    def __init__(self, url: str) -> None:
        self._url = parse_redis_url(url)
        self.name = self._url.name
        self.prefix = self._url.prefix
        self.channel = f"{self.prefix}:news:{self._url.db}:"  # what is published knows no databases

    def client(self) -> Client:
        """A new one, not yet connected; who asked for it closes it (`aclose`). It has one connection, on which commands
        go one after the other; with Sentinel or a Cluster as many as there are commands under way at once. Values are
        bytes."""
        match self._url.kind:
            case "cluster":
                return self._cluster()
            case "sentinel":
                return _owning(self._watched(), single=False)
        return _owning(self._pool(), single=True)

    async def subscriber(self, client: Client) -> Redis:
        """Another client, for `pubsub()`, which a Cluster's own has not: there it goes to one of the primaries that
        `client` knows, and hears what is published at any. Its reads time out like commands, so ask with
        `get_message(timeout=…)`. Errors are those of redis-py."""
        if not isinstance(client, RedisCluster):
            other = self.client()
            assert isinstance(other, Redis)
            return other
        await client.initialize()
        node = random.choice(client.get_primaries())  # noqa: S311 — any will do, another one after a fault
        return _owning(self._pool(node.host, int(node.port)), single=False)

    async def run_id(self, client: Client) -> str | None:
        """What tells one server from another: it changes with a restart and a failover. None for a Cluster, whose nodes
        change while the client lives: there a script asks its own. Errors are those of redis-py."""
        if isinstance(client, RedisCluster):
            return None
        return str((await client.info("server"))["run_id"])

    async def prepare(self, client: Client) -> list[str]:
        """Looks whether the state may lie there, and what a person should be warned of, a sentence each. Away: it may
        not, or the server cannot be reached."""
        try:
            for said in await _info(client, "server"):
                self._check(said)
            found = await _info(client, "memory", "replication")
        except FAILURES as error:
            raise self.away(error) from error
        if any(said.get("role", "master") != "master" for said in found):
            raise Away(f"{self} is a replica, which takes no writes; name the primary, or its Sentinels")
        return sorted({warning for said in found for warning in self._warnings(said)})

    async def evaluate(self, client: Client, sha: str, calls: Sequence[tuple[str, bytes]]) -> list[Any]:
        """The loaded script's answer to each call, a key and what it is given, or the error that it gave. They are sent
        together, and happen in this order where they lie on one node. Errors of the connection are those of
        redis-py."""
        if isinstance(client, RedisCluster):
            asked = (client.execute_command("EVALSHA", sha, 1, key, given) for key, given in calls)
            return await asyncio.gather(*asked, return_exceptions=True)
        pipeline = client.pipeline(transaction=False)
        for key, given in calls:
            pipeline.execute_command("EVALSHA", sha, 1, key, given)
        return await pipeline.execute(raise_on_error=False)

    def refused(self, error: Exception) -> Exception:
        """The error as it is, where it is a script's own fault, so that another attempt would end alike; else Away."""
        known = isinstance(error, (NoScriptError, NoPermissionError, *(kind for kind, _ in _WHY)))
        about_us = known or (isinstance(error, ResponseError) and (_coded(error) or _denied(error)))
        if isinstance(error, ResponseError) and not about_us and "user_script" in str(error):
            return error
        return self.away(error)

    def away(self, error: BaseException) -> Away:
        """The error in words."""
        return error if isinstance(error, Away) else Away(f"{self} {self._why(error)}")

    # --- clients ------------------------------------------------------------------------------------------------------

    def _pool(self, host: str | None = None, port: int | None = None) -> ConnectionPool:
        url = self._url
        if url.kind == "unix":
            return ConnectionPool(
                connection_class=UnixDomainSocketConnection, path=url.path, db=url.db, **self._connecting()
            )
        if host is None:
            host, port = url.hosts[0]
        return ConnectionPool(
            connection_class=SSLConnection if url.tls else Connection,
            host=host,
            port=port,
            db=url.db,
            **self._connecting(),
            **self._over_tcp(),
        )

    def _watched(self) -> "_WatchedPool":
        url, over = self._url, self._over_tcp()
        secured: dict[str, Any] = {"ssl": True} if url.tls else {}
        asking = {**_timeouts(CONNECT_TIMEOUT_S), **over, **secured}  # another Sentinel is asked after that
        if url.sentinel_password_file is not None:
            asking["credential_provider"] = _FromFile(None, url.sentinel_password_file)
        # redis-py has no types for these two.
        sentinels = Sentinel(url.hosts, sentinel_kwargs=asking)  # type: ignore[no-untyped-call]
        return _WatchedPool(url.service, sentinels, db=url.db, **secured, **over, **self._connecting())  # type: ignore[no-untyped-call]

    def _cluster(self) -> RedisCluster:
        nodes = [ClusterNode(host, port) for host, port in self._url.hosts]
        return RedisCluster(startup_nodes=nodes, ssl=self._url.tls, **self._over_tcp(), **self._connecting())

    def _connecting(self) -> dict[str, Any]:
        url = self._url
        said = {**_timeouts(COMMAND_TIMEOUT_S), "client_name": CLIENT_NAME}
        if url.password_file is not None:
            return {**said, "credential_provider": _FromFile(url.username, url.password_file)}
        return {**said, "username": url.username, "password": url.password}

    def _over_tcp(self) -> dict[str, Any]:
        url = self._url
        files = {"ssl_ca_certs": url.ca, "ssl_certfile": url.cert, "ssl_keyfile": url.key}
        # redis-py before 6 does not look whose the certificate is, unless it is told to.
        return {"socket_keepalive": True, **({**files, "ssl_check_hostname": True} if url.tls else {})}

    # --- what it says -------------------------------------------------------------------------------------------------

    def _check(self, said: Mapping[str, Any]) -> None:
        version = str(said.get("redis_version", "7.0"))
        if _numbers(version) < OLDEST:
            raise Away(f"{self} is Redis {version}; it must be Redis 7.0 or newer, or Valkey")
        mode = said.get("redis_mode", said.get("server_mode", "standalone"))
        if mode == "sentinel":
            raise Away(f"{self} is a Sentinel; write redis+sentinel://host:port/service")
        if mode == "cluster" and self._url.kind != "cluster":
            raise Away(f"{self} is a node of a Cluster; write redis+cluster://host:port")

    def _warnings(self, said: Mapping[str, Any]) -> Iterator[str]:
        policy = said.get("maxmemory_policy", "noeviction")
        if policy != "noeviction" and said.get("maxmemory"):
            yield (
                f"{self} drops keys when its memory is full (maxmemory-policy {policy}), and with them slots that "
                "are held and limits; set it to noeviction"
            )

    def _why(self, error: BaseException) -> str:
        chain = list(_chain(error))
        for each in chain:
            if isinstance(each, ssl.SSLError):
                return _tls(each)
        for each in chain:
            if why := self._reason(each):
                return why
        for each in chain:
            if isinstance(each, OSError):
                return f"cannot be reached: {_in_words(each)}"
        if isinstance(error, RedisClusterException | ClusterError):
            return f"cannot be used as a Cluster: {self._said(error)}"
        if isinstance(error, Unreachable):
            return f"cannot be reached: {self._said(error)}"
        return f"cannot be used: {type(error).__name__}: {self._said(error)}"

    def _reason(self, error: BaseException) -> str | None:
        """What an error of a kind of its own means; None: it depends on what it came from."""
        why = next((why for kind, why in _WHY if isinstance(error, kind)), None)
        if why is not None:
            return why
        match error:
            case MasterNotFoundError():
                at = names_of(self._url.hosts)
                return f"cannot be reached: no Sentinel at {at} answers and knows a primary of {self._url.service}"
            case NoPermissionError():
                return f"does not let its user do what is needed: {self._said(error)}"
            case AuthenticationError():
                return self._refused(error)
            case ResponseError():
                return self._answered(error)
        return None

    def _refused(self, error: AuthenticationError) -> str:
        text = str(error)
        if isinstance(error, _NoPassword):
            return text
        if "without any password configured" in text or "no password is set" in text:
            return "has no password set, but one is given"
        given = self._url.password is not None or self._url.password_file is not None
        return "refuses the user or the password" if given else "asks for a password, and none is given"

    def _answered(self, error: ResponseError) -> str:
        if _denied(error):
            return f"does not let its user do what is needed: {self._said(error)}"
        return _coded(error) or f"refuses: {self._said(error)}"

    def _said(self, error: BaseException) -> str:
        """What an error says, in one line. An unknown command is told with what it was given, which for AUTH is the
        password."""
        text = " ".join(str(error).partition(", with args beginning with")[0].split()).rstrip(". ")
        if self._url.password:
            text = text.replace(self._url.password, "***")
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def __str__(self) -> str:
        return f"state {self.name}"

    def __repr__(self) -> str:
        return f"<Server {self.name} prefix {self.prefix}>"


_WHY: tuple[tuple[type[BaseException], str], ...] = (
    (BusyLoadingError, "is still loading its data"),
    (ReadOnlyError, "is a replica, which takes no writes; name the primary, or its Sentinels"),
    (MasterDownError, "is a replica that has lost its primary"),
    (ClusterDownError, "is a Cluster that is down"),
    (OutOfMemoryError, "has no memory left for what is to be kept (maxmemory)"),
    (MovedError, "is a node of a Cluster; write redis+cluster://host:port"),
    (InvalidResponse, "does not speak the protocol of Redis"),
    (TimedOut, "does not answer in time"),
    (TimeoutError, "does not answer in time"),
)
# What redis-py has no class of its own for.
_WHY_OF_CODE = {
    "MISCONF": "takes no writes, since it cannot save its data on its disk (MISCONF)",
    "NOREPLICAS": "takes no writes, since too few of its replicas are there (NOREPLICAS)",
    "BUSY": "is busy with a script that does not end (BUSY)",
    "DENIED": "is in protected mode, and lets nobody in from elsewhere without a password (DENIED)",
}


class _NoPassword(AuthenticationError):
    """The file with it says none; the message is for `away`."""


class _FromFile(CredentialProvider):
    """Reads the password with each connection, so that a new one is found. It blocks for as long as a small file takes:
    an await here could be cancelled, and redis-py would go on with a connection that nobody has authenticated."""

    def __init__(self, username: str | None, path: str) -> None:
        self._username, self._path = username, Path(path)

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        try:
            password = self._path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise _NoPassword(f"cannot be used: the password's file {self._path} cannot be read: {why}") from None
        if not password:
            raise _NoPassword(f"cannot be used: the password's file {self._path} is empty")
        return (password,) if self._username is None else (self._username, password)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()


class _WatchedPool(SentinelConnectionPool):
    """Closes with its own connections those to the Sentinels."""

    async def disconnect(self, inuse_connections: bool = True) -> None:
        await super().disconnect(inuse_connections)
        for sentinel in self.sentinel_manager.sentinels:
            await sentinel.aclose()


def _timeouts(command_s: float) -> dict[str, Any]:
    return {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": command_s,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
        "decode_responses": False,
        "protocol": _RESP,
        **dict.fromkeys(_LIBRARY),
    }


def _owning(pool: ConnectionPool, *, single: bool) -> Redis:
    client = Redis(connection_pool=pool, single_connection_client=single)
    client.auto_close_connection_pool = True  # else a client only borrows a pool that it is given
    return client


async def _info(client: Client, *sections: str) -> list[Mapping[str, Any]]:
    """What each primary says."""
    if not isinstance(client, RedisCluster):
        return [await client.info(*sections)]
    said = await client.info(*sections, target_nodes=RedisCluster.PRIMARIES)
    return [said] if "run_id" in said or "role" in said else list(said.values())  # of a single node it is bare


def _coded(error: ResponseError) -> str | None:
    return _WHY_OF_CODE.get(str(error).partition(" ")[0])


def _denied(error: ResponseError) -> bool:
    """Whether it is a right that was missing within a script, for which redis-py has no class."""
    return str(error).startswith("The user executing the script can't")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted: {error.verify_message.rstrip('.')}"
    return f"cannot be reached over TLS: {(getattr(error, 'reason', None) or str(error)).replace('_', ' ').lower()}"


def _in_words(error: OSError) -> str:
    """asyncio's own words repeat the address, and several attempts' are a list."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or "no connection"
    return os.strerror(error.errno)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
