import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from proxy.config import Settings, diff, effective, load
from proxy.config.block import keys_of
from proxy.config.settings import Provider, Upstream
from proxy.errors import ConfigErrors

HOME = {"HOME": "/home/somebody"}
EXAMPLE = Path(__file__).parents[2] / "config" / "slotgate.yaml"

TEXT = """\
listen: [127.0.0.1:1, 'unix:/x']
admin: {listen: "off"}
queue: {keepalive: [Foo], body_limit: 1.5MiB}
upstreams:
  a: {url: http://h/1, limit: auto, cooldown: auto, slot_timeout: null, hosts: [x], proxy: https://p}
  b: {url: http://h/2}
  umans: {limit: 4, usage: {headers: {}}, counted: {methods: [POST, GET]}}
"""


def read(text: str) -> Settings:
    return load(Path("f"), env=HOME, text=text)


@pytest.mark.parametrize(
    "text", ["", TEXT, "presets: false\nstate: memory", "state: redis://h:1/2", "state: redis://h:1/2\nworkers: 4"]
)
def test_what_is_shown_loads_to_the_same(text: str) -> None:
    settings = read(text)
    shown = json.loads(json.dumps(effective(settings)))
    assert read(yaml.safe_dump(shown)) == settings


def test_it_is_shown_in_the_files_own_words() -> None:
    shown = effective(read(TEXT))
    a, b = shown["upstreams"]["a"], shown["upstreams"]["b"]  # type: ignore[index]
    assert (shown["listen"], shown["client_header_timeout"]) == (["127.0.0.1:1", "unix:/x"], "30s")
    assert shown["admin"] == {"listen": "off", "token_file": None}
    assert shown["queue"]["body_limit"] == "1536KiB"  # type: ignore[index]
    assert (a["limit"], a["cooldown"], a["provider"], a["pause"]["max"]) == ("auto", "auto", "h", "10m")
    assert b.keys() == set(keys_of(Upstream))
    assert a.keys() == b.keys() | set(keys_of(Provider))


SECRETS = """\
state: redis://me:hunter2@h:1/2?prefix=ours
upstreams:
  a:
    url: http://h
    proxy: http://me:hunter2@p
    usage: {url: "/u?key=hunter2", field: x, headers: {authorization: Bearer hunter2}}
"""


def test_no_secret_is_shown() -> None:
    shown = effective(read(SECRETS))
    assert "hunter2" not in json.dumps(shown)
    assert shown["state"] == "redis://***@h:1/2?prefix=ours"
    a = shown["upstreams"]["a"]  # type: ignore[index]
    assert (a["proxy"], a["usage"]["headers"]) == ("http://***@p", {"authorization": "***"})
    assert a["usage"]["url"] == "http://h/u?***"


def test_a_refused_url_is_told_without_its_query() -> None:
    for text in ("upstreams: {a: {url: 'http://h/?k=hunter2'}}", "upstreams: {a: {url: 'ftp://h?k=hunter2'}}"):
        with pytest.raises(ConfigErrors) as error:
            read(text)
        assert "hunter2" not in str(error.value)


def test_a_changed_secret_is_a_change() -> None:
    old, new = read(SECRETS), read(SECRETS.replace("Bearer hunter2", "Bearer hunter3"))
    assert diff(old, new) == (["upstreams.a.usage.headers.authorization"], [])
    new = read(SECRETS.replace("me:hunter2@p", "me:hunter3@p"))
    assert diff(old, new) == (["upstreams.a.proxy"], [])


def test_nothing_changed_is_no_difference() -> None:
    assert diff(read(TEXT), read(TEXT)) == ([], [])
    assert diff(read(""), replace(read("# other\n"), source=Path("g"))) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "changed", "restart"),
    [
        ("", "upstreams: {umans: {limit: 4}}", ["upstreams.umans.limit"], []),
        ("", "upstreams: {umans: {pause: {max: 1m}}}", ["upstreams.umans.pause.max"], []),
        ("", "upstreams: {umans: {usage: null}}", ["upstreams.umans.usage"], []),
        ("upstreams: {a: {url: http://h}}", "upstreams: {b: {url: http://h}}", ["upstreams.b", "upstreams.a"], []),
        ("", "listen: 127.0.0.1:1", ["listen"], ["listen"]),
        ("", "admin: {listen: 'off'}", ["admin.listen"], ["admin.listen"]),
        ("", "state: memory", ["state"], ["state"]),
        (
            "queue: {max_wait: 1m}",
            "state: memory\nqueue: {max_wait: 2m, max_waiting: 1}\nlog: {level: error}",
            ["state", "log.level", "queue.max_waiting", "queue.max_wait"],
            ["state"],
        ),
    ],
)
def test_the_paths_that_changed_and_those_that_need_a_restart(
    old: str, new: str, changed: list[str], restart: list[str]
) -> None:
    assert diff(read(old), read(new)) == (changed, restart)


def test_a_new_token_in_the_same_file_is_a_change(tmp_path: Path) -> None:
    token, text = tmp_path / "token", f"admin: {{token_file: {tmp_path}/token}}"
    token.write_text("one")
    old = read(text)
    token.write_text("two")
    assert diff(old, read(text)) == (["admin.token_file"], [])


# --- the example file --------------------------------------------------------------------------------------------


def test_the_example_file_repeats_the_defaults_but_for_its_limit() -> None:
    assert diff(load(None, env=HOME), load(EXAMPLE, env=HOME)) == (["upstreams.umans.limit"], [])


def test_the_example_file_has_every_key() -> None:
    written = yaml.safe_load(EXAMPLE.read_text())
    shown = effective(load(EXAMPLE, env=HOME))
    assert shown.keys() - written.keys() == {"state"}
    for block in ("admin", "log", "identity", "queue", "shutdown"):
        assert written[block].keys() == shown[block].keys()  # type: ignore[attr-defined]
    umans = shown["upstreams"]["umans"]  # type: ignore[index]
    assert written["upstreams"]["umans"].keys() == umans.keys()
    for block in ("pause", "counted", "usage", "tls"):
        assert written["upstreams"]["umans"][block].keys() == umans[block].keys()
