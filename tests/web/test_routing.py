# Where a request goes, and with which target: the rules of spec §4, each as a line of a table.

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config import Settings, load
from proxy.errors import OwnAnswer
from proxy.web.routing import NAMES_SHOWN, Router


def settings(
    upstreams: dict[str, str] | None = None,
    *,
    hosts: dict[str, list[str]] | None = None,
    default: str | None = None,
    workspace_from_path: bool = True,
) -> Settings:
    """A configuration without presets; `upstreams` gives the path of each one's URL."""
    paths = {"up": "", "deep": "/v1/base"} if upstreams is None else upstreams
    wanted = {
        "presets": False,
        "default_upstream": default,
        "identity": {"workspace_from_path": workspace_from_path},
        "upstreams": {
            name: {"url": f"http://{name}.test{path}", "hosts": (hosts or {}).get(name, [])}
            for name, path in paths.items()
        },
    }
    return load(None, env={"HOME": "/"}, text=json.dumps(wanted))


ROUTER = Router(settings())
DEFAULTING = Router(settings(default="up"))


def sent(router: Router, target: bytes, host: bytes | None = None) -> tuple[str, bytes]:
    route = router.match(target, host)
    return route.place.upstream.name, route.target


def refused(router: Router, target: bytes, host: bytes | None = None) -> OwnAnswer:
    with pytest.raises(OwnAnswer) as caught:
        router.match(target, host)
    return caught.value


@pytest.mark.parametrize(
    ("target", "upstream", "upstream_target"),
    [
        (b"/up/v1/messages?beta=true", "up", b"/v1/messages?beta=true"),
        (b"/up", "up", b"/"),
        (b"/up/", "up", b"/"),
        (b"/up?q=1", "up", b"/?q=1"),
        (b"/up?", "up", b"/?"),
        (b"/up?/x", "up", b"/?/x"),
        (b"/up//x", "up", b"//x"),
        (b"/up/x?", "up", b"/x?"),
        (b"/up/x??a=/b/~c", "up", b"/x??a=/b/~c"),
        (b"/deep", "deep", b"/v1/base"),
        (b"/deep?q", "deep", b"/v1/base?q"),
        (b"/deep/", "deep", b"/v1/base/"),
        (b"/deep/x", "deep", b"/v1/base/x"),
        (b"/deep//x", "deep", b"/v1/base//x"),
        (b"/up/up/x", "up", b"/up/x"),
        (b"/up/~ws/x", "up", b"/~ws/x"),
        (b"/up/http://evil/x", "up", b"/http://evil/x"),
        (b"/up/x#part?q", "up", b"/x#part?q"),
    ],
)
def test_a_prefix_names_the_upstream_and_one_slash_joins(target: bytes, upstream: str, upstream_target: bytes) -> None:
    assert sent(ROUTER, target) == (upstream, upstream_target)


@pytest.mark.parametrize(
    "rest",
    [
        b"/v1/../admin",
        b"/v1/%2e%2e/x",
        b"/./x",
        b"//../x",
        b"/v1/files/a%2Fb%2fc?p=%2F",
        b"/o%27bar?X-Sig=%41%7E%2D&e=%2E.",
        b"/x?path=/tmp/my%20notes.md&q=a+b&r=%2B",
        b"/%zz;a=b?%",
        b"/\\evil",
        b"/%68ttp://evil",
        b"/\xe4\xbd\xa0?\xff",
        b"/%61dmin/concurrency/limits",
    ],
)
def test_what_follows_the_prefix_is_not_touched(rest: bytes) -> None:
    """URL-01, URL-02, URL-05, URL-06, URL-09, URL-10, URL-11, SEC-04, SEC-10."""
    assert sent(ROUTER, b"/up" + rest) == ("up", rest)
    assert sent(ROUTER, b"/~ws/deep" + rest) == ("deep", b"/v1/base" + rest)
    assert sent(DEFAULTING, rest) == ("up", rest)


@pytest.mark.parametrize(
    "target",
    [b"/Up/x", b"/u%70/x", b"//up/x", b"/up%2Fx", b"/upx", b"/", b"/?up", b"/up#x", b"/%7Ews/up/x", b"/~a/~b/up"],
)
def test_a_name_is_matched_as_written_and_only_at_the_front(target: bytes) -> None:
    assert refused(ROUTER, target).code == "unknown_upstream"


@pytest.mark.parametrize(
    "target",
    [
        b"//10.10.10.10/x",
        b"//user@evil/x",
        b"///evil",
        b"/http://169.254.169.254/x",
        b"/health",
        b"/metrics",
        b"//up/x",
    ],
)
def test_the_default_gets_everything_else_as_it_came(target: bytes) -> None:
    """SEC-04, SEC-05, SEC-10."""
    assert sent(DEFAULTING, target, b"evil.example") == ("up", target)


def test_the_url_path_of_the_default_goes_in_front() -> None:
    router = Router(settings(default="deep"))
    assert sent(router, b"/x?q") == ("deep", b"/v1/base/x?q")
    assert sent(router, b"/") == ("deep", b"/v1/base/")


@pytest.mark.parametrize(
    ("absolute", "path"),
    [
        (b"http://evil/up/x?q", b"/up/x?q"),
        (b"HTTPS://user:pw@evil:99/up/x", b"/up/x"),
        (b"http://evil\\@up/up", b"/up"),
        (b"http:///up/x", b"/up/x"),
        (b"http://api.example", b"/"),
        (b"http://api.example?q=/up/x", b"/?q=/up/x"),
        (b"http://evil//up/x", b"//up/x"),
        (b"http://evil/~ws/up/x", b"/~ws/up/x"),
    ],
)
def test_an_absolute_form_is_cut_to_its_path_and_its_authority_matches_nothing(absolute: bytes, path: bytes) -> None:
    router = Router(settings(default="deep", hosts={"up": ["api.example", "evil"]}))
    assert router.match(absolute, b"other.example") == router.match(path, b"other.example")


@pytest.mark.parametrize("target", [b"*", b"evil.example:443", b"ftp://evil/up/x", b"up/x", b"?x", b""])
def test_a_target_that_is_no_path_is_unsupported(target: bytes) -> None:
    answer = refused(DEFAULTING, target)
    assert (answer.code, answer.status) == ("unsupported", 501)
    assert "evil" not in answer.message


HOSTED = Router(
    settings(
        {"up": "", "deep": "/v1/base", "six": ""},
        hosts={"deep": ["Api.example", "second.example"], "six": ["[::1]"]},
        default="up",
    )
)


@pytest.mark.parametrize(
    ("host", "upstream"),
    [
        (b"api.example", "deep"),
        (b"API.Example", "deep"),
        (b" api.example:8787 ", "deep"),
        (b"second.example", "deep"),
        (b"second.example:1", "deep"),
        (b"[::1]", "six"),
        (b"[::1]:8787", "six"),
        (b"api.example.evil", "up"),
        (b"xapi.example", "up"),
        (b"[::2]:8787", "up"),
        (b"", "up"),
        (b":", "up"),
        (b"[", "up"),
        (b"\xff\x00", "up"),
        (None, "up"),
    ],
)
def test_a_host_reaches_its_upstream_in_any_case_with_or_without_a_port(host: bytes | None, upstream: str) -> None:
    assert HOSTED.match(b"/x", host).place.upstream.name == upstream


def test_a_host_leaves_the_path_alone_but_takes_a_workspace() -> None:
    assert sent(HOSTED, b"/v1//x?q", b"api.example") == ("deep", b"/v1/base/v1//x?q")
    route = HOSTED.match(b"/~my%20project/v1/x?q", b"api.example")
    assert (route.workspace, route.target) == ("my project", b"/v1/base/v1/x?q")
    assert HOSTED.match(b"/~ws?q", b"api.example").target == b"/v1/base?q"
    assert HOSTED.match(b"/~ws", b"[::1]").target == b"/"


def test_a_prefix_goes_before_a_host() -> None:
    assert sent(HOSTED, b"/up/x", b"api.example") == ("up", b"/x")


@pytest.mark.parametrize(
    ("written", "workspace"),
    [
        (b"a", "a"),
        (b"a" * 128, "a" * 128),
        (b"%C3%A9" * 128, "é" * 128),
        (b"\xe4\xbd\xa0", "你"),
        (b"a%2Fb", "a/b"),
        (b"x@evil.example", "x@evil.example"),
        (b"x%23", "x#"),
        (b"%3F", "?"),
        (b"..", ".."),
        (b"%zz", "%zz"),
        (b"~a", "~a"),
    ],
)
def test_the_workspace_of_the_path_is_percent_decoded(written: bytes, workspace: str) -> None:
    """SEC-06."""
    route = ROUTER.match(b"/~" + written + b"/up/x?q", None)
    assert (route.workspace, route.target) == (workspace, b"/x?q")


@pytest.mark.parametrize(
    "written", [b"", b"a" * 129, b"%C3%A9" * 129, b"%ff", b"\xff", b"a%0Ab", b"%00", b"%7F", b"%C2%85"]
)
def test_an_unusable_workspace_is_a_bad_request(written: bytes) -> None:
    for router in (ROUTER, DEFAULTING):
        for rest in (b"/up/x", b"", b"?q"):
            answer = refused(router, b"/~" + written + rest)
            assert (answer.code, answer.status) == ("bad_request", 400)


def test_a_workspace_can_be_switched_off_in_the_path() -> None:
    router = Router(settings(default="deep", workspace_from_path=False))
    route = router.match(b"/~/up/x", None)
    assert (route.place.upstream.name, route.target, route.workspace) == ("deep", b"/v1/base/~/up/x", None)


def test_without_one_in_the_path_there_is_no_workspace() -> None:
    assert ROUTER.match(b"/up/x", None).workspace is None
    assert ROUTER.match(b"/up/~ws/x", None).workspace is None


def test_the_path_is_the_target_without_its_query_as_latin_1() -> None:
    assert ROUTER.match(b"/deep/\xe9/count_tokens?key=secret?x", None).path == "/v1/base/\xe9/count_tokens"
    assert ROUTER.match(b"/up?key=secret", None).path == "/"


def test_an_unknown_name_is_told_the_known_ones_but_never_the_query() -> None:
    answer = refused(ROUTER, b"/opnai/v1?key=sk-secret")
    assert answer.status == 404
    assert "'opnai'" in answer.message
    assert "up, deep" in answer.message
    assert "secret" not in answer.message
    assert "secret" not in refused(ROUTER, b"/?key=sk-secret").message
    assert "secret" not in refused(ROUTER, b"/~ws?key=sk-secret").message


def test_the_message_is_bounded_whatever_is_asked_and_configured() -> None:
    many = Router(settings({f"name-{n}": "" for n in range(1000)}))
    message = refused(many, b"/" + b"\x01\xff" * 5000).message
    assert len(message) < 1500
    assert message.isprintable()
    assert f"and {1000 - NAMES_SHOWN} more" in message


def test_with_no_upstream_at_all_it_says_so() -> None:
    assert refused(Router(settings({})), b"/x").message.endswith("none")


@given(st.binary(max_size=40), st.none() | st.binary(max_size=20))
def test_any_bytes_are_routed_to_a_configured_upstream_or_refused_by_ourselves(rest: bytes, host: bytes | None) -> None:
    for target in (rest, b"/" + rest, b"/~" + rest, b"/up" + rest, b"http://" + rest):
        try:
            route = HOSTED.match(target, host)
        except OwnAnswer as answer:
            refusal = answer.code
        else:
            refusal = None
            assert route.place.upstream.name in ("up", "deep", "six")
            assert route.target.startswith(b"/")
            assert route.target.partition(b"?")[0].partition(b"#")[0] == route.path.encode("latin-1")
            assert route.target.endswith(target.partition(b"?")[2])
        assert refusal in (None, "bad_request", "unsupported")
