# The server behind `state: redis://…`: each way to reach it, and what is said when it cannot be.

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
import trustme
from redis.exceptions import ResponseError
from servers.redis_server import RedisServer, cluster, free_port, sentinel, until

from proxy.core.model import Policy
from proxy.replicas import script
from proxy.replicas import server as module
from proxy.replicas.server import FAILURES, Away, Server
from proxy.store.redis import RedisStore

SECRET = "hunter2"
KEY = "slotgate:{p}:x"


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a short name: that of a socket has room for a hundred characters."""
    return tmp_path_factory.mktemp("r")


@pytest.fixture
def own(folder: Path) -> Iterator[RedisServer]:
    """A server that asks for a password, on a port."""
    with RedisServer(folder, "--requirepass", SECRET, port=free_port()) as server:
        yield server


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[Any]:
    client = server.client()
    try:
        yield client
    finally:
        with suppress(*FAILURES):
            await client.aclose()


async def works(url: str) -> Server:
    """Everything that is asked of a server goes through."""
    server = Server(url)
    async with client_of(server) as client:
        assert await server.prepare(client) == []
        assert await server.run_id(client) == await server.run_id(client) != ""
        assert await client.set(KEY, b"v")
        assert await client.get(KEY) == b"v"
        sha = await client.script_load("return {KEYS[1], ARGV[1]}")
        sha = sha.decode() if isinstance(sha, bytes) else sha
        calls = [("slotgate:{p}:", b"\x00\xff"), ("slotgate:{q}:", b"2")]
        assert await server.evaluate(client, sha, calls) == [[b"slotgate:{p}:", b"\x00\xff"], [b"slotgate:{q}:", b"2"]]
        await hears(server, client)
    return server


async def hears(server: Server, client: Any) -> None:
    subscriber = await server.subscriber(client)
    news = subscriber.pubsub(ignore_subscribe_messages=True)
    try:
        await news.subscribe("slotgate:news")
        await news.get_message(timeout=10)
        await client.execute_command("PUBLISH", "slotgate:news", b"\xff")
        async with asyncio.timeout(30):
            while (heard := await news.get_message(timeout=10)) is None:
                pass
        assert heard["data"] == b"\xff"
    finally:
        await news.aclose()
        await subscriber.aclose()


async def away(url: str) -> str:
    """Why it cannot be used; the URL's secret is not told."""
    server = Server(url)
    async with client_of(server) as client:
        with pytest.raises(Away) as error:
            await server.prepare(client)
    said = str(error.value)
    assert SECRET not in said + repr(server)
    assert said.startswith(f"state {server.name} ")
    return said.removeprefix(f"state {server.name} ")


# --- one server ------------------------------------------------------------------------------------------------------


async def test_socket_and_port_with_a_password(own, folder):
    await works(f"unix://:{SECRET}@{own.socket}?db=3")
    await works(f"redis://:{SECRET}@127.0.0.1:{own.port}/2")
    await works(f"redis://default:{SECRET}@localhost:{own.port}")


def test_password_from_a_file_that_changes(own, folder):
    """Not on a loop that is watched: a file this small is read where it is needed."""
    file = folder / "password"
    url = f"redis://127.0.0.1:{own.port}?password_file={file}"
    assert (
        asyncio.run(away(url))
        == f"cannot be used: the password's file {file} cannot be read: No such file or directory"
    )
    file.write_text("\n")
    assert asyncio.run(away(url)) == f"cannot be used: the password's file {file} is empty"
    file.write_text("wrong\n")
    assert asyncio.run(away(url)) == "refuses the user or the password"
    file.write_text(f"{SECRET}\n")
    asyncio.run(works(url))
    asyncio.run(works(f"redis://default@127.0.0.1:{own.port}?password_file={file}"))


async def test_wrong_and_missing_passwords(own, folder):
    assert await away(f"redis://:{SECRET}x@127.0.0.1:{own.port}") == "refuses the user or the password"
    assert await away(f"redis://{SECRET}:x@127.0.0.1:{own.port}") == "refuses the user or the password"
    assert await away(f"redis://127.0.0.1:{own.port}") == "asks for a password, and none is given"
    (folder / "b").mkdir()
    with RedisServer(folder / "b") as open_server:
        assert await away(f"unix://:{SECRET}@{open_server.socket}") == "has no password set, but one is given"


async def test_nobody_there(folder):
    assert await away(f"redis://127.0.0.1:{free_port()}") == "cannot be reached: Connection refused"
    assert await away(f"unix://{folder}/nobody") == "cannot be reached: No such file or directory"
    assert (await away("redis://nobody.invalid")).startswith("cannot be reached: ")


async def test_silent_server_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "COMMAND_TIMEOUT_S", 0.2)
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()
        gone.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        assert await away(f"redis://127.0.0.1:{port}") == "does not answer in time"
        await gone.wait()


async def test_something_else_that_answers():
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(http, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        assert await away(f"redis://127.0.0.1:{port}") == "does not speak the protocol of Redis"


async def test_user_with_few_rights(own):
    with own.connection(password=SECRET) as connection:
        rights = ["+@connection", "+info", "+get", "+set", "+evalsha", "+script|load", "+publish", "+subscribe"]
        connection.execute_command("ACL", "SETUSER", "slot", "on", f">{SECRET}", *rights, "~slotgate:*", "&slotgate:*")
        url = f"redis://slot:{SECRET}@127.0.0.1:{own.port}"
        await works(url)
        server = Server(url)
        async with client_of(server) as client:
            for asked in (("GET", "elsewhere"), ("PUBLISH", "elsewhere", "x"), ("HGET", KEY, "x")):
                with pytest.raises(FAILURES) as error:
                    await client.execute_command(*asked)
                said = str(server.away(error.value))
                assert " does not let its user do what is needed: " in said.lower()
        connection.execute_command("ACL", "SETUSER", "slot", "-info")
        assert "'info' command" in await away(url)


@pytest.fixture
def source() -> str:
    return script.source()  # read where no loop is held up


@pytest.mark.parametrize(("rights", "works"), [("", False), ("+time", True)])
async def test_user_needs_a_right_for_each_command_of_the_queue(own, source, rights, works):
    documented = ["+@read", "+@write", "+@scripting", "+@connection", "+@pubsub", "+info", *rights.split()]
    with own.connection(password=SECRET) as connection:
        connection.execute_command(
            "ACL", "SETUSER", "slot", "on", f">{SECRET}", *documented, "~slotgate:*", "&slotgate:*"
        )
    server = Server(f"redis://slot:{SECRET}@127.0.0.1:{own.port}")
    begin = script.announcement({"policy": script.policy(Policy()), "limit": 1, "cooldown_s": 0.0})
    asked = script.request([begin], replica="a", number=1, run=None, channel="slotgate:news:")
    async with client_of(server) as client:
        sha = await client.script_load(source)
        (answer,) = await server.evaluate(client, sha, [("slotgate:{api.example}:", asked)])
    if works:
        assert script.reply(answer).standing.limit == 1
    else:
        away = server.refused(answer)
        assert isinstance(away, Away)
        assert "does not let its user do what is needed: The user executing the script can't run" in str(away)


async def test_store_needs_to_read_to_write_and_to_run_a_script(own, folder):
    with own.connection(password=SECRET) as connection:
        rights = ["+@read", "+@write", "+@scripting", "+@connection", "+info"]
        connection.execute_command(
            "ACL", "SETUSER", "slot", "on", f">{SECRET}", *rights, "~slotgate:*", "resetchannels"
        )
    store = RedisStore(Server(f"redis://slot:{SECRET}@127.0.0.1:{own.port}"))
    await store.open()
    assert await store.save_star("w", True)
    assert await store.stars() == {"w"}
    await store.close()


# --- what it is, and how it is ---------------------------------------------------------------------------------------


async def test_server_that_drops_keys_is_warned_of(own):
    server = Server(f"redis://:{SECRET}@127.0.0.1:{own.port}")
    with own.connection(password=SECRET) as connection:
        connection.config_set("maxmemory-policy", "allkeys-lru")
        async with client_of(server) as client:
            assert await server.prepare(client) == []  # it has no bound at all
            connection.config_set("maxmemory", "100mb")
            (warning,) = await server.prepare(client)
    assert warning == (
        f"state redis://127.0.0.1:{own.port} drops keys when its memory is full (maxmemory-policy allkeys-lru), and "
        "with them slots that are held and limits; set it to noeviction"
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"redis_version": "6.2.14"}, "is Redis 6.2.14; it must be Redis 7.0 or newer, or Valkey"),
        (
            {"redis_version": "7.0.15", "redis_mode": "sentinel"},
            "is a Sentinel; write redis+sentinel://host:port/service",
        ),
        (
            {"redis_version": "7.0.15", "redis_mode": "cluster"},
            "is a node of a Cluster; write redis+cluster://host:port",
        ),
    ],
)
async def test_server_of_the_wrong_kind(own, monkeypatch, said, why):
    async def info(*_: object) -> list[dict[str, str]]:
        return [said]

    monkeypatch.setattr(module, "_info", info)
    assert await away(f"redis://:{SECRET}@127.0.0.1:{own.port}") == why


async def test_replica_is_refused_until_it_is_a_primary(own, folder):
    (folder / "b").mkdir()
    asked = ("--replicaof", "127.0.0.1", str(own.port), "--masterauth", SECRET)
    with RedisServer(folder / "b", *asked, port=free_port()) as copy, copy.connection() as connection:
        until(lambda: connection.info("replication")["master_link_status"] == "up")
        url = f"redis://127.0.0.1:{copy.port}"
        assert await away(url) == "is a replica, which takes no writes; name the primary, or its Sentinels"
        server = Server(url)
        async with client_of(server) as client:
            with pytest.raises(FAILURES) as error:
                await client.set(KEY, 1)
            assert " is a replica, which takes no writes" in str(server.away(error.value))
        connection.replicaof("NO", "ONE")
        await works(url)


async def test_run_changes_with_a_restart(own):
    server = Server(f"redis://:{SECRET}@127.0.0.1:{own.port}")
    async with client_of(server) as client:
        before = await server.run_id(client)
        own.kill()
        with pytest.raises(FAILURES) as error:
            await server.run_id(client)
        assert "closed" in str(server.away(error.value)) or "refused" in str(server.away(error.value))
        own.start()
        assert await server.run_id(client) != before


async def test_what_a_running_server_refuses(own):
    server = Server(f"redis://:{SECRET}@127.0.0.1:{own.port}")
    async with client_of(server) as client:

        async def refused(*command: object) -> str:
            with pytest.raises(FAILURES) as error:
                await client.execute_command(*command)
            return str(server.away(error.value)).removeprefix(f"state {server.name} ")

        with own.connection(password=SECRET) as connection:
            connection.config_set("maxmemory", "1")
            assert await refused("SET", KEY, 1) == "has no memory left for what is to be kept (maxmemory)"
            connection.config_set("maxmemory", "0")
            connection.config_set("min-replicas-to-write", "1")
            assert (await refused("SET", KEY, 1)).startswith("takes no writes, since too few of its replicas are there")
            connection.config_set("min-replicas-to-write", "0")
        assert await refused("HGET", await _string(client), "x") == (
            "refuses: WRONGTYPE Operation against a key holding the wrong kind of value"
        )
        assert await refused(f"NO-SUCH-COMMAND {SECRET}") == "refuses: unknown command 'NO-SUCH-COMMAND'"


async def _string(client: Any) -> str:
    await client.set(KEY, 1)
    return KEY


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ResponseError("MISCONF Redis is configured to save RDB snapshots"), "takes no writes, since it cannot save"),
        (ResponseError("BUSY Redis is busy running a script"), "is busy with a script that does not end"),
        (ResponseError("DENIED Redis is running in protected mode"), "is in protected mode"),
        (redis.BusyLoadingError("Redis is loading the dataset in memory"), "is still loading its data"),
        (redis.exceptions.MasterDownError("Link with MASTER is down"), "is a replica that has lost its primary"),
        (redis.exceptions.ClusterDownError("The cluster is down"), "is a Cluster that is down"),
        (redis.ConnectionError("max number of clients reached"), "cannot be reached: max number of clients reached"),
        (redis.exceptions.RedisClusterException("no luck"), "cannot be used as a Cluster: no luck"),
        (ResponseError(f"what about {SECRET}?\nand"), "refuses: what about ***? and"),
        (ResponseError("x" * 500), f"refuses: {'x' * 200}…"),
        (TimeoutError(), "does not answer in time"),
        (ssl.SSLError(1, "[SSL: NO_LUCK] no luck (_ssl.c:1)"), "cannot be reached over TLS: "),
        (ConnectionResetError(104, "whatever"), "cannot be reached: Connection reset by peer"),
        (ValueError("no luck"), "cannot be used: ValueError: no luck"),
    ],
    ids=repr,
)
def test_each_error_is_a_sentence(error: Exception, why: str) -> None:
    said = str(Server(f"redis://u:{SECRET}@h").away(error))
    assert said.startswith(f"state redis://h {why}")
    assert SECRET not in said


def test_away_stays_what_it_is() -> None:
    known = Away("it is away")
    assert Server("redis://h").away(known) is known


async def test_fault_of_a_script_is_told_from_a_server_that_is_away(own):
    server = Server(f"redis://:{SECRET}@127.0.0.1:{own.port}")
    async with client_of(server) as client:
        fault = await client.script_load("return nothing.at_all")
        writes = await client.script_load("return redis.call('SET', KEYS[1], 1)")
        wrong = await client.script_load("redis.call('SET', KEYS[1], 1) return redis.call('HGET', KEYS[1], 'x')")
        for sha in (fault, wrong):
            (error,) = await server.evaluate(client, sha, [(KEY, b"")])
            assert server.refused(error) is error
        with own.connection(password=SECRET) as connection:
            connection.config_set("maxmemory", "1")
            (error,) = await server.evaluate(client, writes, [(KEY, b"")])
            assert "no memory left" in str(server.refused(error))
            connection.config_set("maxmemory", "0")
            connection.script_flush()
        (error,) = await server.evaluate(client, writes, [(KEY, b"")])
        assert isinstance(server.refused(error), Away)


async def test_reply_is_never_taken_for_another_ones(own):
    server = Server(f"redis://:{SECRET}@127.0.0.1:{own.port}")
    async with client_of(server) as client:
        await client.set(KEY, b"right")
        with own.connection(password=SECRET) as connection:
            for rounds in range(20):
                connection.execute_command("CLIENT", "PAUSE", 20, "ALL")
                given_up = asyncio.create_task(client.execute_command("ECHO", b"wrong"))
                for _ in range(rounds):
                    await asyncio.sleep(0)
                given_up.cancel()
                assert await client.get(KEY) == b"right"
                await asyncio.wait([given_up])


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, a server's certificate from it for 127.0.0.1, and a client's."""
    folder, ca = tmp_path_factory.mktemp("ca"), trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    trustme.CA().cert_pem.write_to_path(folder / "other.pem")
    for name in ("127.0.0.1", "client"):
        made = ca.issue_cert(name)
        made.private_key_pem.write_to_path(folder / f"{name}.key")
        made.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    return folder


@asynccontextmanager
async def secured(folder: Path, authority: Path, clients: str) -> AsyncIterator[int]:
    port = free_port()
    options = ["--tls-port", str(port), "--tls-ca-cert-file", str(authority / "ca.pem"), "--tls-auth-clients", clients]
    options += ["--tls-cert-file", str(authority / "127.0.0.1.pem"), "--tls-key-file", str(authority / "127.0.0.1.key")]
    with RedisServer(folder, *options):
        yield port


async def test_tls_with_an_authority_of_its_own(folder, authority):
    async with secured(folder, authority, "no") as port:
        await works(f"rediss://127.0.0.1:{port}?ca={authority}/ca.pem")
        said = await away(f"rediss://127.0.0.1:{port}")
        assert said.startswith("has a certificate that is not trusted: ")
        assert "not trusted" in await away(f"rediss://127.0.0.1:{port}?ca={authority}/other.pem")
        assert "not trusted: Hostname mismatch" in await away(f"rediss://localhost:{port}?ca={authority}/ca.pem")
        assert await away(f"rediss://127.0.0.1:{port}?ca={authority}/none") == (
            "cannot be reached: No such file or directory"
        )
        assert (await away(f"redis://127.0.0.1:{port}")).startswith("cannot be reached: ")


async def test_tls_with_a_certificate_of_the_client(folder, authority):
    async with secured(folder, authority, "yes") as port:
        url = f"rediss://127.0.0.1:{port}?ca={authority}/ca.pem"
        await works(f"{url}&cert={authority}/client.pem&key={authority}/client.key")
        assert (await away(url)).startswith("cannot be reached")


async def test_tls_where_there_is_none(own, monkeypatch):
    monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", 0.5)
    assert await away(f"rediss://127.0.0.1:{own.port}") in (
        "does not answer in time",
        "cannot be reached over TLS: wrong version number",
        "cannot be reached over TLS: record layer failure",
    )


# --- Sentinel and Cluster ---------------------------------------------------------------------------------------------


async def test_sentinel_names_the_primary(own, folder):
    with own.connection(password=SECRET) as connection:
        connection.config_set("requirepass", "")  # else Sentinel needs it, too
        with sentinel(folder, "main", own.port) as port:
            url = f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{port}/main/1"  # the first one is away
            await works(url)
            assert await away(f"redis+sentinel://127.0.0.1:{port}/other") == (
                f"cannot be reached: no Sentinel at 127.0.0.1:{port} answers and knows a primary of other"
            )
            assert await away(f"redis://127.0.0.1:{port}") == "is a Sentinel; write redis+sentinel://host:port/service"
            store = RedisStore(Server(url))
            await store.open()
            assert await store.save_star("w", True)
            assert await store.stars() == {"w"}
            await store.close()


async def test_sentinel_leads_to_the_next_primary(folder):
    for name in ("a", "b", "s"):
        (folder / name).mkdir()
    first = RedisServer(folder / "a", port=free_port())
    with (
        first,
        RedisServer(folder / "b", "--replicaof", "127.0.0.1", str(first.port), port=free_port()) as second,
        sentinel(folder / "s", "main", first.port) as port,
        second.connection() as copy,
        redis.Redis(port=port) as asked,
    ):
        until(lambda: copy.info("replication")["master_link_status"] == "up")
        until(lambda: asked.sentinel_masters()["main"]["num-slaves"] == 1)
        server = Server(f"redis+sentinel://127.0.0.1:{port}/main")
        async with client_of(server) as client:
            await client.set(KEY, b"v")
            before = await server.run_id(client)
            asked.execute_command("SENTINEL", "FAILOVER", "main")
            await asyncio.to_thread(until, lambda: asked.sentinel_masters()["main"]["port"] == second.port)
            first.kill()
            with suppress(*FAILURES):  # that it is gone is found out by who asks
                await client.get(KEY)
            assert await server.run_id(client) != before
            assert await client.set(KEY, b"w")


async def test_cluster_of_two(folder):
    with cluster(folder) as nodes:
        url = f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{nodes[1].port}"
        server = await works(url)
        assert await away(f"redis://127.0.0.1:{nodes[0].port}") == (
            "is a node of a Cluster; write redis+cluster://host:port"
        )
        store = RedisStore(server)
        await store.open()
        assert await store.save_star("w", True)
        assert await store.stars() == {"w"}
        await store.close()
        nodes[0].kill()
        async with client_of(server) as client:
            with pytest.raises(Away, match=r"cannot be reached|is down|as a Cluster"):
                await server.prepare(client)


async def test_server_that_is_no_cluster(own):
    assert await away(f"redis+cluster://:{SECRET}@127.0.0.1:{own.port}") == (
        "refuses: This instance has cluster support disabled"
    )


def test_repr_is_for_people():
    server = Server(f"redis://u:{SECRET}@h:1/2?prefix=ours")
    assert (repr(server), str(server), server.prefix) == (
        "<Server redis://h:1/2 prefix ours>",
        "state redis://h:1/2",
        "ours",
    )


def test_url_that_is_wrong_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="unknown key"):
        Server("redis://h?x=1")
