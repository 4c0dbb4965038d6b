# Targets and Hosts that try to leave the configured upstream, and our own answers that tell about them.

import json
from random import Random

from hostile import by_h11
from hostile.driver import fuzzed
from hostile.mutation import NASTY, mutated, pick

from proxy.config import load
from proxy.errors import OWN_ANSWERS, BadMessage, OwnAnswer
from proxy.web.routing import Route, Router
from proxy.wire.answer import own_answer
from proxy.wire.head import parse_request

BASES = {"up": b"", "deep": b"/v1/base"}
PARTS = (b"/", b"up", b"deep", b"/up", b"/deep/", b"~", b"/~ws", b"%2F", b"%zz", b"..", b"?", b"#", b";", b"//", b"[x]")
PARTS += (b"http://", b"HTTPS://", b"evil.test", b"@", b":80", b"*", b"\\", b"\xff", b"%00", b"%0d%0aX-A:%20b", b".")
HOSTS = (
    b"here.test",
    b"up.test",
    b"UP.test:80",
    b"[::1]:80",
    b"::1",
    b"",
    b"up.test@evil.test",
    b"\xff",
    b" up.test\t",
)


def router(default: str | None) -> Router:
    upstreams = {
        name: {"url": f"http://{name}.test{base.decode()}", "hosts": [f"{name}.test"] if name == "up" else []}
        for name, base in BASES.items()
    }
    wanted = {"presets": False, "default_upstream": default, "upstreams": upstreams}
    return Router(load(None, env={"HOME": "/"}, text=json.dumps(wanted)))


ROUTERS = (router(None), router("deep"))


def asked(rng: Random) -> bytes | None:
    """A target that a request line can have, or None."""
    target = b"".join(pick(rng, PARTS) for _ in range(rng.randint(1, 6)))
    if rng.randrange(2):
        target = mutated(rng, target)
    try:
        return parse_request(b"GET %s HTTP/1.1\r\nHost: here.test\r\n\r\n" % target).target
    except BadMessage:
        return None


def routed(router: Router, target: bytes, host: bytes) -> Route | OwnAnswer:
    try:
        return router.match(target, host)
    except OwnAnswer as error:
        return error


@fuzzed(300)
def test_target_stays_with_the_configured_upstream(rng: Random) -> None:
    target, host = asked(rng), pick(rng, HOSTS)
    if target is None:
        return
    route = routed(pick(rng, ROUTERS), target, host)
    if isinstance(route, OwnAnswer):
        assert route.code in ("unknown_upstream", "bad_request", "unsupported"), target
        assert route.message.isprintable(), target
        return
    base = BASES[route.place.upstream.name]
    assert route.target.startswith(base + b"/") or route.target.partition(b"?")[0] == base, (target, route)
    assert route.target.startswith(b"/"), (target, route)
    rest = route.target[len(base) :]
    assert target.endswith(rest) or (rest.startswith(b"/") and target.endswith(rest[1:])), (target, route)
    written = parse_request(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % route.target)
    assert written.target == route.target, target


@fuzzed(200)
def test_own_answer_is_one_answer_whatever_it_tells(rng: Random) -> None:
    told = b"".join(pick(rng, NASTY[:39]) for _ in range(rng.randint(0, 5))).decode("latin-1")
    error = OwnAnswer(pick(rng, tuple(OWN_ANSWERS)), told, retry_after_s=pick(rng, (None, 1, 59)))
    method, close = pick(rng, (b"GET", b"HEAD")), pick(rng, (False, True))
    raw = own_answer(error, method=method, close=close)
    read = by_h11.answer(raw + b"next", method)
    assert read is not None, told
    assert (read.head.status_code, read.whole, read.rest) == (error.status, True, b"next"), told
    assert method == b"HEAD" or json.loads(read.payload)["error"]["message"] == f"slotgate: {told}"
