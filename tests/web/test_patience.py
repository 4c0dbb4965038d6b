# 102s for waiting clients that are known to need them, and for nobody else (spec §9).

import pytest
from rawsides.message import answer, post
from rawsides.rig import becomes

from proxy.web import patience
from proxy.web.agents import FEW
from proxy.web.patience import ANY_NUMBER, EVERY_S, PROCESSING, interims
from proxy.wire.head import parse_request


class Asking:
    """As much of a request as is looked at."""

    def __init__(self, *lines: str, minor: int = 1) -> None:
        head = "\r\n".join([f"POST / HTTP/1.{minor}", "Host: a", *lines])
        self.head = parse_request(head.encode("latin-1") + b"\r\n\r\n")


NODE = "User-Agent: ai-sdk/openai/2.0 runtime/node.js/22"
NEEDY = [
    "x-stainless-runtime: node",
    "User-Agent: GeminiCLI/0.9 (linux)",
    "User-Agent: google-genai-sdk/1 gl-node/22",
    NODE,
    "User-Agent: ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2",
]
OTHERS = [
    "x-stainless-runtime: CPython",
    "x-stainless-runtime: browser:node",
    "User-Agent: python-requests/2",
    "User-Agent: Go-http-client/1.1",
    "User-Agent: geminicli/0.9",
    "X-A: b",
]


@pytest.mark.plain
@pytest.mark.parametrize("keepalive", ["auto", (), ("other",)])
@pytest.mark.parametrize("line", NEEDY)
def test_known_clients_are_kept_alive(line, keepalive):
    assert interims(Asking(line), keepalive) == ANY_NUMBER


@pytest.mark.plain
@pytest.mark.parametrize("line", OTHERS)
def test_no_other_client_is(line):
    """To Python's http.client a 102 is the answer."""
    assert interims(Asking(line), "auto") == 0


@pytest.mark.plain
@pytest.mark.parametrize("line", NEEDY)
def test_nobody_is_when_it_is_off_or_in_http_1_0(line):
    assert interims(Asking(line), "off") == 0
    assert interims(Asking(line, minor=0), "auto") == interims(Asking(line, minor=0), [line[-4:]]) == 0


@pytest.mark.plain
def test_configured_parts_of_a_user_agent_count_too():
    assert interims(Asking("User-Agent: my-agent/1"), ("my-agent",)) == ANY_NUMBER
    assert interims(Asking("User-Agent: another/1"), ("my-agent",)) == 0


@pytest.mark.plain
def test_an_operator_s_word_beats_what_is_known_but_for_the_number_that_kills():
    assert interims(Asking("User-Agent: python-requests/2"), ("python-requests",)) == ANY_NUMBER
    assert interims(Asking("User-Agent: Go-http-client/1.1"), ("Go-http",)) == FEW
    assert interims(Asking("User-Agent: Go-http-client/1.1"), ("other",)) == 0


@pytest.mark.plain
def test_what_a_102_breaks_is_sent_none_whatever_else_it_says():
    assert interims(Asking("User-Agent: python-requests/2 gl-node/22", "x-stainless-runtime: node"), "auto") == 0


def test_the_least_patient_client_hears_something_in_time_even_if_one_is_late():
    assert EVERY_S == 20.0


async def behind_a_holder(start, *lines: str, **queue):
    rig = await start({"limit": 1}, queue=queue)
    _, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/waits", b"{}", *lines))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    return rig, link, client


async def test_waiting_client_hears_102s_until_its_grant_and_then_its_answer(start, monkeypatch):
    monkeypatch.setattr(patience, "EVERY_S", 0.01)
    rig, link, client = await behind_a_holder(start, NODE)
    for _ in range(3):
        assert await client.head() == PROCESSING
    await link.send(answer(b"held"))
    await link.until(b"{}")
    heard_by_now = rig.runtime.clock.now()
    await becomes(lambda: rig.runtime.clock.now() - heard_by_now > 0.03)
    await link.send(answer(b"mine"))
    heard = await client.until(b"mine")
    assert heard.endswith(answer(b"mine"))
    assert set(heard[: -len(answer(b"mine"))].split(b"\r\n\r\n")) <= {PROCESSING[:-4], b""}
    assert heard.count(PROCESSING) < 3, "none after the grant"


async def test_client_that_dies_of_the_sixth_102_hears_five_however_often_it_waits(start, monkeypatch):
    monkeypatch.setattr(patience, "EVERY_S", 0.005)
    rig = await start({"limit": 1, "absorb": 1, "pause": {"default": "100ms"}}, queue={"keepalive": ["Go-http"]})
    _, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/waits", b"{}", "User-Agent: Go-http-client/1.1"))
    for _ in range(FEW - 2):
        assert await client.head() == PROCESSING
    await link.send(answer(b"held"))
    await link.until(b"{}")
    await link.send(answer(b"", status="429 Too Many Requests"))
    await link.until(b"{}")
    await link.send(answer(b"mine"))
    heard = await client.until(b"mine")
    assert heard.endswith(answer(b"mine"))
    assert heard.count(PROCESSING) == 2


async def test_refusal_follows_the_102s(start, monkeypatch):
    monkeypatch.setattr(patience, "EVERY_S", 0.01)
    rig, _, client = await behind_a_holder(start, NODE)
    assert await client.head() == PROCESSING
    rig.admission.apply(rig.scheduler.drop_all("draining"))
    while (head := await client.head()) == PROCESSING:
        pass
    assert head.startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize(("line", "keepalive"), [("User-Agent: curl/8", "auto"), (NODE, "off")])
async def test_other_waiting_clients_hear_nothing_before_their_answer(start, monkeypatch, line, keepalive):
    monkeypatch.setattr(patience, "EVERY_S", 0.005)
    rig, link, client = await behind_a_holder(start, line, keepalive=keepalive)
    began_at = rig.runtime.clock.now()
    await becomes(lambda: rig.runtime.clock.now() - began_at > 0.03)
    assert client.unheard() == 0
    await link.send(answer(b"held"))
    await link.until(b"{}")
    await link.send(answer(b"mine"))
    assert await client.exactly(len(answer(b"mine"))) == answer(b"mine")


async def test_client_that_leaves_while_it_is_kept_alive_leaves_no_timer(start, monkeypatch):
    monkeypatch.setattr(patience, "EVERY_S", 0.01)
    rig, _, client = await behind_a_holder(start, NODE)
    assert await client.head() == PROCESSING
    client.reset()
    await becomes(lambda: not rig.scheduler.waiting)
    assert (await rig.record()).outcome == "abandoned"
