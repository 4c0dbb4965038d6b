from pathlib import Path
from typing import Any

import pytest

from proxy.config import Address, Settings, State, find_file, load
from proxy.errors import ConfigErrors

HOME = {"HOME": "/home/somebody"}

EVERYTHING = """\
listen: ['127.0.0.1:1', '[::1]:2', unix:/run/x.sock]
admin: {listen: "off"}
state: memory
presets: false
default_upstream: a
client_header_timeout: 5s
log: {level: debug, format: json}
identity:
  workspace: [X-Project]
  conversation: [X-Chat, x-other]
  prompt_started_at: [X-Start]
  turn_gap: 0
  workspace_from_path: false
queue: {max_waiting: 0, max_wait: 1m30s, body_limit: 1MiB, body_budget: 2GiB, keepalive: [Foo/1, Bar]}
shutdown: {grace: 0s}
upstreams:
  a:
    url: https://api.example.com:8443/base/
    hosts: [LLM.example.com, '[::1]']
    provider: mine
    preset: umans
    limit: 4
    cooldown: 1s
    auto_reduce: false
    auto_restore: 1h
    absorb: 2
    pause: {default: 1s, min: 2s, max: 3s}
    slot_timeout: null
    max_hold: 1h
    counted: {methods: [post, PUT], except: [/x, ':y', /a/b/]}
    usage: {url: usage, field: a.b, headers: {Authorization: Bearer x}, timeout: 3s, interval: 4s}
    connect_timeout: 6s
    tls: {verify: false, ca_file: null}
    reuse: false
    websocket: tunnel
    tunnel_idle: 7s
    proxy: http://me:secret@proxy:3128
"""


def read(text: str, **more: Any) -> Settings:
    return load(Path("f"), env=HOME, text=text, **more)


def test_every_key_is_read() -> None:
    it = read(EVERYTHING)
    assert [str(address) for address in it.listen] == ["127.0.0.1:1", "[::1]:2", "unix:/run/x.sock"]
    assert (it.admin.listen, it.admin.token_file, it.admin.token) == (None, None, None)
    assert (it.state, it.presets, it.default_upstream) == (State(kind="memory"), False, "a")
    assert (it.client_header_timeout_s, it.log.level, it.log.format) == (5.0, "debug", "json")
    assert (it.identity.workspace, it.identity.conversation) == (("x-project",), ("x-chat", "x-other"))
    assert it.identity.prompt_started_at == ("x-start",)
    assert (it.identity.turn_gap_s, it.identity.workspace_from_path) == (0.0, False)
    assert (it.queue.max_waiting, it.queue.max_wait_s) == (0, 90.0)
    assert (it.queue.body_limit, it.queue.body_budget) == (1024**2, 2 * 1024**3)
    assert (it.queue.keepalive, it.shutdown.grace_s, it.source) == (("Foo/1", "Bar"), 0.0, Path("f"))
    assert list(it.upstreams) == ["a"]
    assert list(it.providers) == ["mine"]


def test_every_key_of_an_upstream_is_read() -> None:
    it = read(EVERYTHING)
    up, provider = it.upstreams["a"], it.providers["mine"]
    assert (up.name, str(up.url), up.hosts) == (
        "a",
        "https://api.example.com:8443/base",
        ("llm.example.com", "[::1]"),
    )
    assert (up.provider_id, up.preset, up.connect_timeout_s) == ("mine", "umans", 6.0)
    assert (up.tls.verify, up.tls.ca_file, up.reuse, up.websocket, up.tunnel_idle_s) == (
        False,
        None,
        False,
        "tunnel",
        7.0,
    )
    assert up.proxy
    assert (up.proxy.authority, up.proxy.userinfo) == ("proxy:3128", "me:secret")
    assert (provider.provider_id, provider.upstreams) == ("mine", ("a",))
    assert (provider.limit, provider.learn_limit) == (4, False)
    assert (provider.cooldown_s, provider.learn_cooldown, provider.auto_reduce) == (1.0, False, False)
    assert (provider.auto_restore_s, provider.absorb) == (3600.0, 2)
    assert (provider.pause.default_s, provider.pause.min_s, provider.pause.max_s) == (1.0, 2.0, 3.0)
    assert (provider.slot_timeout_s, provider.max_hold_s) == (None, 3600.0)
    assert up.counted == provider.counted
    assert (up.counted.methods, up.counted.except_) == ({"POST", "PUT"}, ("/x", ":y", "/a/b/"))
    assert provider.usage
    assert (provider.usage.url, provider.usage.field) == ("https://api.example.com:8443/base/usage", "a.b")
    assert (provider.usage.headers, provider.usage.timeout_s) == ({"authorization": "Bearer x"}, 3.0)
    assert provider.usage.interval_s == 4.0


def test_the_defaults_are_those_of_the_contract() -> None:
    it = load(None, env=HOME, upstreams={"a": "http://h"})
    assert it.listen == (Address(host="127.0.0.1", port=8787),)
    assert it.admin.listen == Address(host="127.0.0.1", port=8788)
    assert it.state == State(kind="sqlite", target="/home/somebody/.local/state/slotgate/state.db")
    assert (it.default_upstream, it.client_header_timeout_s, it.source) == (None, 30.0, None)
    assert (it.log.level, it.log.format) == ("info", "auto")
    assert (it.identity.workspace, it.identity.turn_gap_s, it.identity.workspace_from_path) == ((), 600.0, True)
    assert (it.queue.max_waiting, it.queue.max_wait_s, it.queue.keepalive) == (1000, 600.0, "auto")
    assert (it.queue.body_limit, it.queue.body_budget, it.shutdown.grace_s) == (64 * 1024**2, 512 * 1024**2, 30.0)
    up, provider = it.upstreams["a"], it.providers["h"]
    assert (up.hosts, up.preset, up.connect_timeout_s, up.tls.verify) == ((), None, 10.0, True)
    assert (up.reuse, up.websocket, up.tunnel_idle_s, up.proxy) == (True, "auto", None, None)
    assert (provider.limit, provider.learn_limit, provider.cooldown_s, provider.learn_cooldown) == (
        None,
        False,
        0.35,
        False,
    )
    assert (provider.auto_reduce, provider.auto_restore_s, provider.absorb) == (True, None, 0)
    assert (provider.pause.default_s, provider.pause.min_s, provider.pause.max_s) == (30.0, 0.0, 600.0)
    assert (provider.slot_timeout_s, provider.max_hold_s, provider.usage) == (300.0, None, None)


def test_auto_is_told_from_a_number() -> None:
    provider = read("upstreams: {a: {url: http://h, limit: auto, cooldown: auto}}").providers["h"]
    assert (provider.limit, provider.learn_limit) == (None, True)
    assert (provider.cooldown_s, provider.learn_cooldown) == (0.35, True)


def test_empty_blocks_say_nothing() -> None:
    empty = read("admin:\nlog:\nidentity:\nqueue:\nshutdown:\nupstreams:\n  umans:\n  a: {url: http://h, pause:, tls:}")
    assert empty == load(Path("f"), env=HOME, text="", upstreams={"a": "http://h"})


def test_values_from_the_environment_are_read_like_written_ones() -> None:
    env = {**HOME, "N": "7", "ON": "false", "D": "2s", "OFF": "off", "URL": "http://h"}
    text = (
        "admin: {listen: '${OFF}'}\nupstreams:\n  a: {url: '${URL}', limit: '${N}', cooldown: '${D}', reuse: '${ON}'}"
    )
    it = load(Path("f"), env=env, text=text)
    assert it.admin.listen is None
    assert (it.providers["h"].limit, it.providers["h"].cooldown_s, it.upstreams["a"].reuse) == (7, 2.0, False)


def test_no_repr_shows_a_secret(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("hunter2\n")
    text = EVERYTHING.replace("Bearer x", "hunter2").replace("me:secret", "me:hunter2")
    text = text.replace('{listen: "off"}', f"{{token_file: {token}}}").replace(
        "state: memory", "state: redis://:hunter2@h"
    )
    it = read(text)
    assert it.admin.token == "hunter2"
    assert "hunter2" not in repr(it)


# --- files -------------------------------------------------------------------------------------------------------


def test_the_named_file_comes_before_the_usual_places(tmp_path: Path) -> None:
    system, home = tmp_path / "system.yaml", tmp_path / "home"
    own = home / ".config" / "slotgate" / "slotgate.yaml"
    xdg = tmp_path / "xdg" / "slotgate" / "slotgate.yaml"
    env = {"HOME": str(home)}
    assert find_file(None, env, system=system) is None
    own.parent.mkdir(parents=True)
    own.touch()
    assert find_file(None, env, system=system) == own
    assert find_file(None, {**env, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}, system=system) is None
    xdg.parent.mkdir(parents=True)
    xdg.touch()
    assert find_file(None, {**env, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}, system=system) == xdg
    assert find_file(None, {**env, "XDG_CONFIG_HOME": "relative"}, system=system) == own
    system.touch()
    assert find_file(None, env, system=system) == system
    assert find_file(None, {**env, "SLOTGATE_CONFIG": "/no/such"}, system=system) == Path("/no/such")
    assert find_file(None, {**env, "SLOTGATE_CONFIG": ""}, system=system) == system
    assert find_file("named.yaml", {**env, "SLOTGATE_CONFIG": "/no/such"}, system=system) == Path("named.yaml")


@pytest.mark.parametrize(
    ("env", "target"),
    [
        ({"STATE_DIRECTORY": "/a:/b", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/a/state.db"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/slotgate/state.db"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/slotgate/state.db"),
        ({"STATE_DIRECTORY": "", "HOME": "/h"}, "/h/.local/state/slotgate/state.db"),
    ],
)
def test_the_state_lies_where_the_environment_says(env: dict[str, str], target: str) -> None:
    assert load(None, env=env).state == State(kind="sqlite", target=target)


def test_without_any_place_for_the_state_the_file_must_name_one() -> None:
    with pytest.raises(ConfigErrors, match="state: found no place for it"):
        load(None, env={})
    assert load(None, env={}, text="state: memory").state == State(kind="memory")


def test_paths_count_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" abc \n")
    file = tmp_path / "slotgate.yaml"
    file.write_text("state: ./state.db\nadmin: {listen: 0.0.0.0:1, token_file: ./token}")
    it = load(file, env=HOME)
    assert it.state.target == str(tmp_path / "state.db")
    assert (it.admin.token_file, it.admin.token) == (tmp_path / "token", "abc")
    assert load(file, env=HOME, text="state: ~/s.db").state.target == "/home/somebody/s.db"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\n", "which holds nothing"),
        (b"a b", "something else"),
        (b"\xff", "cannot be read"),
        (b"\xc3\xbc", "something else"),
    ],
)
def test_a_token_file_without_a_usable_token_is_an_error(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(ConfigErrors, match=f"admin.token_file: found {tmp_path}/token, .*{why}"):
        load(None, env=HOME, text=f"admin: {{listen: 0.0.0.0:1, token_file: {tmp_path}/token}}")


def test_a_file_of_authorities_must_hold_certificates(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(ConfigErrors, match=r"upstreams.a.tls.ca_file: found .*ca\.pem, which cannot be used"):
        read(f"upstreams: {{a: {{url: https://h, tls: {{ca_file: {tmp_path}/ca.pem}}}}}}")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "slotgate.yaml"
    file.write_bytes(b"\xef\xbb\xbflog: {level: error}\r\n")
    assert load(file, env=HOME).log.level == "error"
