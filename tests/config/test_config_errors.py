import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.config import load
from proxy.errors import ConfigErrors

HOME = {"HOME": "/home/somebody"}


def errors(text: str, **more: object) -> list[str]:
    """Every problem as `file:line: path: found; allowed`."""
    with pytest.raises(ConfigErrors) as raised:
        load(Path("f"), env=HOME, text=text, **more)  # type: ignore[arg-type]
    return str(raised.value).splitlines()


TABLE = [
    # the top
    ("[1]", "f: found a list; allowed: a mapping with the keys listen, admin"),
    ("lisen: x", 'f:1: lisen: found an unknown key; did you mean "listen"? known here: admin, client_header_timeout'),
    ("listen: []", "f:1: listen: found no address"),
    ("listen: null", "f:1: listen: found null; allowed: host:port"),
    ("listen: 8787", "f:1: listen: found 8787"),
    ("listen:\n  - 127.0.0.1:1\n  - nope", 'f:3: listen[1]: found "nope" (the port is missing)'),
    ("listen: ['[::1]:1', '[0::1]:1']", "f:1: listen: found [::1]:1 2 times"),
    ("listen: 127.0.0.1:8788", "f: admin.listen: found 127.0.0.1:8788, where clients connect"),
    ("admin: {listen: off}", "f:1: admin.listen: found off without quotes, which YAML reads as false"),
    ("admin: {listen: 0.0.0.0:8788}", "f:1: admin.listen: found 0.0.0.0:8788, which others can reach, without a token"),
    ("admin: on", "f:1: admin: found on without quotes"),
    ("admin: [x]", "f:1: admin: found a list; allowed: a mapping with the keys listen, token_file"),
    (
        "admin: {token_file: /does/not/exist}",
        "f:1: admin.token_file: found /does/not/exist, which cannot be read: No such",
    ),
    ("admin: {token_file: token}", 'f:1: admin.token_file: found "token" (a path begins with'),
    ("state: redis", 'f:1: state: found "redis"'),
    ("state: ''", 'f:1: state: found ""'),
    ("state: http://x", 'f:1: state: found "http://x"'),
    ("presets: 1", "f:1: presets: found 1; allowed: true or false"),
    ("presets: 'true'", 'f:1: presets: found "true"'),
    ("default_upstream: opnai", 'found "opnai", which is no upstream; did you mean "openai"?'),
    (
        "state: memory\nworkers: 2",
        "f:2: workers: found 2, with the state kept nowhere; allowed: 1, or more with a",
    ),
    (
        "state: /x\nworkers: 4",
        "f:2: workers: found 4, with the state kept in a file of one process; allowed: 1, or",
    ),
    ("workers: 0", "f:1: workers: found 0; allowed: a whole number from 1 to 64"),
    ("client_header_timeout: 30", "found 30 (a number without a unit: ms, s, m, h or d)"),
    ("client_header_timeout: 0", "found 0 (out of range); allowed: a duration from 10ms to 1h"),
    ("client_header_timeout: true", "found true; allowed: a duration"),
    ("log: {level: inof}", 'found "inof" (did you mean "info"?); allowed: "debug", "info", "warning" or "error"'),
    ("log: {format: yaml}", 'log.format: found "yaml"'),
    ("log: info", 'log: found "info"; allowed: a mapping with the keys level, format'),
    ("identity: {workspace: x}", 'identity.workspace: found "x"; allowed: a list'),
    ("identity: {workspace:\n }", "identity.workspace: found null; allowed: a list"),
    ("identity: {conversation: ['a b']}", 'identity.conversation[0]: found "a b"'),
    ("identity: {turn_gap: 1:30}", "identity.turn_gap: found 1:30 without quotes, which YAML reads as 90"),
    ("queue: {max_waiting: -1}", "queue.max_waiting: found -1; allowed: a whole number from 0 to 1000000"),
    ("queue: {max_waiting: 1.5}", "queue.max_waiting: found 1.5"),
    ("queue: {max_waiting: true}", "queue.max_waiting: found true"),
    ("queue: {max_waiting: '5'}", 'queue.max_waiting: found "5"'),
    ("queue: {max_wait: 10}", "queue.max_wait: found 10 (a number without a unit"),
    ("queue: {body_limit: 64MB}", 'queue.body_limit: found "64MB" (the units are KiB, MiB or GiB)'),
    ("queue: {body_limit: true}", "queue.body_limit: found true; allowed: a size"),
    ("queue: {body_limit: 1}", "queue.body_limit: found 1 (a number without a unit"),
    ("queue: {keepalive: off}", "queue.keepalive: found off without quotes"),
    ("queue: {keepalive: 'on'}", 'queue.keepalive: found "on"; allowed: "auto" or "off", or a list'),
    ("queue: {keepalive: ['']}", 'queue.keepalive[0]: found ""'),
    ("shutdown: {grace: -1s}", 'shutdown.grace: found "-1s"'),
    ("shutdown: {grace: '${GRACE}'}", "found ${GRACE}, which is not set"),
    # upstreams
    ("upstreams: [x]", "f:1: upstreams: found a list; allowed: a mapping of names to upstreams"),
    ("upstreams:\n  a: 1", "f:2: upstreams.a: found 1; allowed: a mapping with the keys url"),
    ("upstreams:\n  a: {limit: 1}", "f:2: upstreams.a.url: found nothing; allowed: http://"),
    ("upstreams:\n  opnai: {limit: 1}", 'f:2: upstreams.opnai.url: found nothing; did you mean "openai"?'),
    ("upstreams:\n  ~x: {url: http://h}", 'f:2: upstreams.~x: found "~x"; allowed: 1 to 64 letters'),
    ("upstreams: {a/b: {url: http://h}}", 'upstreams.a/b: found "a/b"'),
    ("upstreams: {" + "a" * 65 + ": {url: http://h}}", "allowed: 1 to 64 letters"),
    ("upstreams: {a: {url: h}}", 'upstreams.a.url: found "h" (it must begin with http:// or https://)'),
    ("upstreams: {a: {url: 'http://me:secret@h'}}", 'upstreams.a.url: found "http://***@h" (no user and password here'),
    ("upstreams: {a: {url: http://h, limits: 3}}", 'upstreams.a.limits: found an unknown key; did you mean "limit"?'),
    ("upstreams: {a: {url: http://h, hosts: ['h:80']}}", 'hosts[0]: found "h:80" (without the port'),
    ("upstreams: {a: {url: http://h, provider: ''}}", 'upstreams.a.provider: found ""'),
    ("upstreams: {a: {url: http://h, provider: ..}}", 'upstreams.a.provider: found ".."'),
    (
        "upstreams: {a: {url: http://h, provider: 7}}",
        "upstreams.a.provider: found 7 (text that looks like something else",
    ),
    ("upstreams: {a: {url: http://h, preset: ollma}}", 'upstreams.a.preset: found "ollma" (did you mean "ollama"?)'),
    ("upstreams: {a: {url: http://h, preset: [x]}}", "upstreams.a.preset: found a list"),
    ("upstreams: {a: {url: http://h, preset: false}}", "upstreams.a.preset: found false"),
    (
        "upstreams: {a: {url: http://h, limit: 0}}",
        "upstreams.a.limit: found 0; allowed: a whole number from 1 to 100000",
    ),
    ("upstreams: {a: {url: http://h, limit: 100001}}", "upstreams.a.limit: found 100001"),
    ("upstreams: {a: {url: http://h, limit: many}}", '"auto", or null for unlimited'),
    ("upstreams: {a: {url: http://h, limit: on}}", "upstreams.a.limit: found on without quotes"),
    ("upstreams: {a: {url: http://h, cooldown: 11m}}", 'upstreams.a.cooldown: found "11m" (out of range)'),
    ("upstreams: {a: {url: http://h, cooldown: null}}", "upstreams.a.cooldown: found null"),
    ("upstreams: {a: {url: http://h, auto_reduce: 'no'}}", 'upstreams.a.auto_reduce: found "no"'),
    ("upstreams: {a: {url: http://h, auto_restore: 0}}", "upstreams.a.auto_restore: found 0 (out of range)"),
    (
        "upstreams: {a: {url: http://h, absorb: 21}}",
        "upstreams.a.absorb: found 21; allowed: a whole number from 0 to 20",
    ),
    ("upstreams: {a: {url: http://h, pause: 30s}}", 'upstreams.a.pause: found "30s"; allowed: a mapping'),
    ("upstreams: {a: {url: http://h, pause: {min: 11m}}}", "pause.min: found 11m, which is more than max, 10m"),
    (
        "upstreams: {a: {url: http://h, pause: {maximum: 1s}}}",
        'pause.maximum: found an unknown key; did you mean "max"?',
    ),
    ("upstreams: {a: {url: http://h, slot_timeout: 0}}", "upstreams.a.slot_timeout: found 0 (out of range)"),
    ("upstreams: {a: {url: http://h, max_hold: never}}", 'upstreams.a.max_hold: found "never"'),
    ("upstreams: {a: {url: http://h, counted: {methods: POST}}}", 'counted.methods: found "POST"; allowed: a list'),
    ("upstreams: {a: {url: http://h, counted: {methods: ['a b']}}}", 'counted.methods[0]: found "a b"'),
    ("upstreams: {a: {url: http://h, counted: {except: [/]}}}", 'counted.except[0]: found "/"'),
    ("upstreams: {a: {url: http://h, counted: {except: [files]}}}", 'counted.except[0]: found "files"'),
    ("upstreams: {a: {url: http://h, counted: {except: ['/x#y']}}}", 'counted.except[0]: found "/x#y"'),
    ("upstreams: {a: {url: http://h, counted: {except: [':x/']}}}", 'counted.except[0]: found ":x/"'),
    ("upstreams: {a: {url: http://h, counted: {except: ['/x?y']}}}", 'counted.except[0]: found "/x?y"'),
    (
        "upstreams: {a: {url: http://h, usage: {url: /u}}}",
        "upstreams.a.usage.field: found nothing; allowed: names joined",
    ),
    ("upstreams: {a: {url: http://h, usage: {field: a}}}", "upstreams.a.usage.url: found nothing"),
    ("upstreams: {a: {url: http://h, usage: {url: 'ftp://x', field: a}}}", 'usage.url: found "ftp://x"'),
    ("upstreams: {a: {url: http://h, usage: {url: /u, field: a..b}}}", 'usage.field: found "a..b"'),
    ("upstreams: {a: {url: http://h, usage: {url: /u, field: a, headers: [x]}}}", "usage.headers: found a list"),
    (
        "upstreams: {a: {url: http://h, usage: {url: /u, field: a, headers: {'a b': x}}}}",
        "usage.headers: found a name that is not shown",
    ),
    (
        "upstreams: {a: {url: http://h, usage: {url: /u, field: a, headers: {a: x, A: y}}}}",
        "headers: found a name twice",
    ),
    ("upstreams: {a: {url: http://h, usage: {url: /u, field: a, timeout: 2m}}}", 'usage.timeout: found "2m"'),
    ("upstreams: {a: {url: http://h, connect_timeout: 0}}", "connect_timeout: found 0 (out of range)"),
    ("upstreams: {a: {url: http://h, hosts: on}}", "upstreams.a.hosts: found on without quotes"),
    (
        "upstreams: {a: {url: http://h, usage: {url: /u, field: a, headers: no}}}",
        "usage.headers: found no without quotes",
    ),
    ("upstreams: {a: {url: http://h, tls: {verify: no}}}", "tls.verify: found no without quotes"),
    (
        "upstreams: {a: {url: http://h, tls: {ca_file: /does/not/exist}}}",
        "tls.ca_file: found /does/not/exist, which cannot",
    ),
    ("upstreams: {a: {url: http://h, reuse: maybe}}", 'upstreams.a.reuse: found "maybe"'),
    ("upstreams: {a: {url: http://h, websocket: tunel}}", 'found "tunel" (did you mean "tunnel"?)'),
    ("upstreams: {a: {url: http://h, tunnel_idle: 5}}", "upstreams.a.tunnel_idle: found 5"),
    ("upstreams: {a: {url: http://h, proxy: socks5://p:1}}", 'upstreams.a.proxy: found "socks5://p:1"'),
    ("upstreams: {a: {url: http://h, proxy: http://p/x}}", "(a proxy has no path)"),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:60] for text, _ in TABLE])
def test_one_mistake_is_one_error_that_says_where_what_and_what_is_allowed(text: str, expected: str) -> None:
    found = errors(text)
    assert len(found) == 1, found
    assert expected in found[0]


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = """\
listen: nope
admin: {listen: 0.0.0.0:1}
log: {level: loud, colour: 1}
default_upstream: b
upstreams:
  a:
    limit: 0
    pause: {min: 20m, maxx: 1s}
  umans: {limit: -1, usage: {timeout: 5}}
  b: {url: http://h, hosts: [x, y, x]}
"""
    found = errors(text, upstreams={"c": "x"}, limits={"d": 1})
    assert [line.split(": found")[0] for line in found] == [
        "command line: upstreams.c.url",
        "command line: --limit d",
        "f:1: listen",
        "f:2: admin.listen",
        "f:3: log.colour",
        "f:3: log.level",
        "f:6: upstreams.a.url",
        "f:7: upstreams.a.limit",
        "f:8: upstreams.a.pause.maxx",
        "f:8: upstreams.a.pause.min",
        "f:9: upstreams.umans.limit",
        "f:9: upstreams.umans.usage.timeout",
        "f:10: upstreams.b.hosts[2]",
    ]


def test_a_name_with_a_broken_entry_can_still_be_referred_to() -> None:
    assert len(errors("default_upstream: a\nupstreams: {a: {url: nope}}", limits={"a": 3})) == 1


def test_mistakes_of_the_command_line_say_so() -> None:
    found = errors("", upstreams={"new": "ftp://x", "~": "http://h"}, limits={"opnai": 3, "openai": 0})
    assert [line.split(";")[0] for line in found] == [
        'command line: upstreams.new.url: found "ftp://x" (it must begin with http:// or https://)',
        'command line: upstreams.~: found "~"',
        "command line: --limit opnai: found no upstream of this name",
        "command line: upstreams.openai.limit: found 0",
    ]


def test_no_error_shows_a_secret() -> None:
    text = """\
state: redis//:hunter2@h
upstreams:
  a:
    url: http://me:hunter2@h
    proxy: socks5://me:hunter2@p
    provider: ${KEY}
    limit: ${KEY}
    usage: {url: /u, field: x, headers: {authorization: "hunter2\\n", x-api-key: [hunter2], x-two: 2}}
"""
    with pytest.raises(ConfigErrors) as raised:
        load(Path("f"), env={**HOME, "KEY": "hunter2 \n"}, text=text)
    assert len(raised.value.problems) == 8
    assert "hunter2" not in str(raised.value)
    assert 'found "${KEY}" (its value is not shown)' in str(raised.value)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("usage: {url: /u, field: a.b, headers: 'Bearer hunter2'}", "usage.headers: found a value that is not shown"),
        ("usage: {url: /u, field: a.b, headers: ['hunter2']}", "usage.headers: found a list"),
        (
            "usage: {url: /u, field: a.b, headers: {'Authorization: hunter2': '1'}}",
            "usage.headers: found a name that is not shown",
        ),
        ("proxy: 'u:hunter2@h:99'", 'found "***@h:99"'),
        ("proxy: 'http://u:hunt@er2@h:1/a'", 'found "http://***@h:1/a"'),
        ("proxy: 'http://u:hun ter2@h:1'", 'found "http://***@h:1"'),
        ("proxy: 'http://u:hunter2@h:1/a?hun ter2'", 'found "http://***@h:1/a?***"'),
        ("proxy: 'http://u:hunter2@h:1/a?${KEY}'", 'found "http://***@h:1/a?***" (its value is not shown)'),
        ("proxy: 'u:hun//ter2@h:1'", "***@h:1"),
    ],
)
def test_what_stands_where_a_credential_may_be_is_not_shown(entry: str, found: str) -> None:
    text = f"upstreams:\n  a:\n    url: http://h\n    {entry}\n"
    with pytest.raises(ConfigErrors) as raised:
        load(Path("f"), env={**HOME, "KEY": "hunter2"}, text=text)
    assert found in str(raised.value)
    assert str(raised.value).startswith("f:4: ")
    assert not {"hun", "ter2"} & set(re.split(r"[^a-z0-9]+", str(raised.value)))
    assert "hunter2" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match=r"nothing\.yaml: cannot be read: No such file"):
        load(tmp_path / "nothing.yaml", env=HOME)
    with pytest.raises(ConfigErrors, match="cannot be read: Is a directory"):
        load(tmp_path, env=HOME)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"log:\n  level: \xe4\n")
    with pytest.raises(ConfigErrors, match=r"latin\.yaml:2: found the byte 0xe4; allowed: UTF-8"):
        load(latin, env=HOME)


def test_errors_come_in_the_same_order_whatever_the_hash_seed() -> None:
    code = (
        "from proxy.config import load; from proxy.errors import ConfigErrors\n"
        "try: load(None, env={}, text='{b: 1, c: 1, d: 1, log: {x: 1, y: 1, z: 1}}')\n"
        "except ConfigErrors as error: print(error)"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert len(runs.pop().splitlines()) == 7
