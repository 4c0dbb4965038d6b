# The simulated account: whom it refuses, and for what.

import random

from proxy.demo.account import Account, Refusal, Taken
from proxy.demo.answers import refusal
from proxy.demo.terms import LAG_S, Terms
from proxy.ratelimits import classify


def account(limit: int = 2, refusals: float = 0.0) -> Account:
    return Account(Terms(limit=limit, refusals=refusals), random.Random(1))


def taken(answer: Taken | Refusal) -> Taken:
    assert isinstance(answer, Taken)
    return answer


def test_one_more_than_the_limit_is_refused() -> None:
    it = account(limit=2)
    taken(it.begin(0.0))
    taken(it.begin(0.0))
    assert it.begin(1.0) is Refusal.OVER
    assert it.refused == {Refusal.OVER: 1}
    assert it.most == 2


def test_an_ended_answer_counts_for_a_while() -> None:
    it = account(limit=1)
    first = taken(it.begin(0.0))
    it.end(first, 10.0)
    assert it.begin(10.0 + LAG_S.low / 2) is Refusal.OVER
    assert it.counted(10.0 + LAG_S.high) == 0
    taken(it.begin(10.0 + LAG_S.high))


def test_an_answer_ends_once() -> None:
    it = account(limit=1)
    first = taken(it.begin(0.0))
    it.end(first, 10.0)
    it.end(first, 20.0)
    assert it.counted(11.0) == 0


def test_a_refusal_by_chance_is_none_for_the_limit() -> None:
    it = account(refusals=1.0)
    assert it.begin(0.0) is Refusal.CHANCE
    assert it.counted(0.0) == 0


def test_who_is_too_many_is_not_put_down_to_chance() -> None:
    it = account(limit=0, refusals=1.0)
    assert it.begin(0.0) is Refusal.OVER


def test_the_proxy_reads_the_refusal_as_one_for_concurrency() -> None:
    headers, body = refusal(8)
    seen = classify(429, list(headers.items()), body, preset="anthropic", now=0.0)
    assert (seen.kind, seen.retry_after_ms) == ("concurrency", 8000)
