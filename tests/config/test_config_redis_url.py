# Where a shared state lies: every form of the URL, what is wrong with one, and that no error shows a password.

import pytest

from proxy.config.redis_url import is_redis_url, parse_redis_url, shown_redis_url

FORMS = [
    ("redis://h", {"kind": "tcp", "hosts": (("h", 6379),), "db": 0, "prefix": "slotgate", "name": "redis://h"}),
    ("redis://[::1]:7/3", {"hosts": (("::1", 7),), "db": 3, "name": "redis://[::1]:7/3", "tls": False}),
    ("redis://u:p%40%2Fw@h/1", {"username": "u", "password": "p@/w", "name": "redis://h/1"}),
    ("redis://:p:w@h", {"username": None, "password": "p:w"}),
    ("redis://u@h?password_file=/a%20b", {"username": "u", "password": None, "password_file": "/a b"}),
    ("redis://h?prefix=a.b:c-1_", {"prefix": "a.b:c-1_", "name": "redis://h"}),
    ("rediss://h?ca=/ca&cert=/c&key=/k", {"tls": True, "ca": "/ca", "cert": "/c", "key": "/k"}),
    ("unix:///run/r.sock?db=2", {"kind": "unix", "path": "/run/r.sock", "db": 2, "name": "unix:///run/r.sock"}),
    ("unix://u:pw@/run/r%20s", {"path": "/run/r s", "username": "u", "password": "pw", "name": "unix:///run/r%20s"}),
    (
        "redis+sentinel://u:pw@a:1,b/main/2?sentinel_password_file=/s",
        {
            "kind": "sentinel",
            "hosts": (("a", 1), ("b", 26379)),
            "service": "main",
            "db": 2,
            "password": "pw",
            "sentinel_password_file": "/s",
            "name": "redis+sentinel://a:1,b/main/2",
        },
    ),
    ("rediss+sentinel://a/main?ca=/ca", {"kind": "sentinel", "tls": True, "ca": "/ca", "db": 0}),
    ("redis+cluster://a:1,b:2", {"kind": "cluster", "hosts": (("a", 1), ("b", 2))}),
    ("rediss+cluster://a/0?ca=/ca", {"kind": "cluster", "tls": True, "hosts": (("a", 6379),)}),
]


@pytest.mark.parametrize(("text", "said"), FORMS, ids=[text for text, _ in FORMS])
def test_url_says_where_the_state_lies(text: str, said: dict[str, object]) -> None:
    url = parse_redis_url(text)
    assert {name: getattr(url, name) for name in said} == said
    assert is_redis_url(text)


WRONG = [
    ("http://hunter2", "it must begin with one of redis://, rediss://, unix://, redis"),
    ("redis://h/\N{BULLET}hunter2", "only printable ASCII"),
    ("redis://u:hun@ter2@h", "percent-encoded"),
    ("redis://u:hun/ter2@h", "percent-encoded"),
    ("redis://:hunter2#@h", "percent-encoded"),
    ("redis://", "the host is missing"),
    ("redis://:hunter2@", "the host is missing"),
    ("redis://h:hunter2", "the port is a number"),
    ("redis://h:0", "the port is a number"),
    ("redis://a,hunter2", "one host; several are possible with redis"),
    ("redis://h/hunter2", "the database is a whole number"),
    ("redis://h/1/2", "the database is a whole number"),
    ("redis://hunter2@h", "a user without a password"),
    ("redis://u:hunter2@h?password_file=/f", "a password and a password_file"),
    ("redis://h?password=hunter2", "unknown key in the query: .*known here: prefix, password_file$"),
    ("redis://h?hunter2", "unknown key in the query: known here: prefix, password_file$"),
    ("redis://h?db=2", "unknown key"),
    ("redis://h?ca=/hunter2", "unknown key"),
    ("rediss://h?cert=/hunter2", "needs both cert=/path and key=/path"),
    ("rediss://h?ca=hunter2", "ca is the absolute path of a file"),
    ("redis://h?password_file=hunter2", "password_file is the absolute path of a file"),
    ("redis://h?prefix=hunter2&prefix=b", "prefix stands twice"),
    ("redis://h?prefix=", "prefix has 1 to 64 letters"),
    ("redis://h?prefix={hunter2}", "prefix has 1 to 64 letters"),
    ("redis://h?prefix=hunter%202", "prefix has 1 to 64 letters"),
    ("unix://hunter2", "a unix socket needs an absolute path"),
    ("unix://hunter2/x", "a unix socket needs an absolute path"),
    ("unix:///hunter2/", "a unix socket needs an absolute path"),
    (f"unix:///{'x' * 107}", "at most 107 bytes"),
    ("unix:///x?db=hunter2", "the database is a whole number"),
    ("redis+sentinel://hunter2", "the name of the service"),
    ("redis+sentinel://h/a%hunter2", "the name of the service"),
    ("redis+sentinel://h,/s", "the host is missing"),
    ("redis+cluster://h/hunter2", "only the database 0"),
]


@pytest.mark.parametrize(("text", "why"), WRONG, ids=[text for text, _ in WRONG])
def test_error_says_what_is_wrong_and_nothing_of_what_is_there(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        parse_redis_url(text)
    assert "hun" not in str(error.value)


def test_repr_shows_no_secret() -> None:
    assert "hunter2" not in repr(parse_redis_url("redis://u:hunter2@h"))


def test_url_is_shown_without_user_and_password() -> None:
    shown = {
        "redis://u:hunter2@h:1/2?prefix=a": "redis://***@h:1/2?prefix=a",
        "unix://:hunter2@/x%40y": "unix://***@/x%40y",
        "redis://h?password_file=/x@y": "redis://h?password_file=/x@y",
        "redis://h": "redis://h",
    }
    assert {text: shown_redis_url(text) for text in shown} == shown
