"""What the simulated providers say is read by the proxy as what they mean: before an answer, and inside one."""

import pytest

from proxy.ratelimits import classify

from .dialects import ROWS, refusal, row
from .provider import Reason, Refusal

NOW = 1_796_000_000.0
STATE_A_WAIT = {Reason.REQUESTS, Reason.TOKENS, Reason.QUOTA, Reason.LOCKED, Reason.OVERLOAD}
SAID = [(dialect, reason) for dialect in ROWS for reason in ROWS[dialect]]


@pytest.mark.parametrize(("dialect", "reason"), SAID)
def test_refusal_is_read_as_what_it_means(dialect: str, reason: Reason) -> None:
    answer = refusal(dialect, Refusal(reason, 20.0 if reason in STATE_A_WAIT else None), NOW)
    verdict = classify(answer.status, answer.headers, answer.body, preset=dialect, now=NOW)
    assert verdict.kind == row(dialect, reason).read_as
    if reason in (Reason.REQUESTS, Reason.TOKENS) and (dialect, reason) != ("zai", Reason.REQUESTS):
        assert verdict.retry_after_ms == 20_000


@pytest.mark.parametrize("dialect", ROWS)
def test_overload_without_a_wait_states_none(dialect: str) -> None:
    answer = refusal(dialect, Refusal(Reason.OVERLOAD, None), NOW)
    verdict = classify(answer.status, answer.headers, answer.body, preset=dialect, now=NOW)
    assert (verdict.kind, verdict.retry_after_ms) == ("overload", None)


@pytest.mark.parametrize("dialect", ["anthropic", "openai", "zai", "gemini"])
def test_error_inside_a_stream_is_read_as_what_it_means(dialect: str) -> None:
    for reason in (Reason.CONCURRENCY, Reason.REQUESTS, Reason.QUOTA, Reason.OVERLOAD):
        in_headers = (dialect, reason) == ("anthropic", Reason.QUOTA)
        if reason not in ROWS[dialect] or in_headers:
            continue
        frame = refusal(dialect, Refusal(reason, 20.0), NOW).frame
        data = frame.partition(b"data: ")[2].strip()
        headers = [("Content-Type", "text/event-stream")]
        verdict = classify(200, headers, data, preset=dialect, now=NOW)
        assert verdict.kind == row(dialect, reason).read_as, (reason, frame)


def test_every_reason_has_words_everywhere() -> None:
    for dialect in ROWS:
        for reason in Reason:
            assert refusal(dialect, Refusal(reason, 30.0), NOW).status >= 400
