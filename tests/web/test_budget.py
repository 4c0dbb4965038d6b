# How much memory waiting bodies may take: one of them, and all together.

import pytest

from proxy.config import Queue
from proxy.errors import OwnAnswer
from proxy.web.budget import BodyBudget, Share


def a_share(of: BodyBudget | None = None, *, limit: int, budget: int) -> Share:
    return (of or BodyBudget()).share("p.example", Queue(body_limit=limit, body_budget=budget))


def refused(code: str, call, *args) -> OwnAnswer:
    with pytest.raises(OwnAnswer) as error:
        call(*args)
    assert error.value.code == code
    return error.value


def test_one_body_may_have_its_limit_and_no_more():
    share = a_share(limit=10, budget=100)
    share.add(7, 7)
    share.add(3, 10)
    error = refused("body_too_large", share.add, 1, 11)
    assert (error.status, error.retry_after_s) == (413, None)
    assert "queue.body_limit (10 bytes)" in error.message


def test_announced_length_is_judged_before_a_byte_is_read():
    share = a_share(limit=10, budget=100)
    share.check_length(10)
    share.check_length(-1)  # chunked: not known
    refused("body_too_large", share.check_length, 11)
    assert share.used == 0


def test_framing_counts_for_the_budget_and_not_for_the_limit_unless_it_is_out_of_all_proportion():
    share = a_share(limit=10, budget=1000)
    share.add(60, 10)  # ten chunks of one byte
    refused("body_budget", a_share(limit=10, budget=59).add, 60, 10)
    refused("body_too_large", share.add, 21, 10)


def test_refusals_name_the_provider():
    for share, code in (({"limit": 1, "budget": 9}, "body_too_large"), ({"limit": 9, "budget": 1}, "body_budget")):
        assert "provider p.example" in refused(code, a_share(**share).add, 2, 2).message


def test_all_bodies_share_the_budget():
    of = BodyBudget()
    one, two = (a_share(of, limit=100, budget=100) for _ in range(2))
    one.add(60, 60)
    two.add(40, 40)
    error = refused("body_budget", two.add, 1, 41)
    assert error.status == 503
    assert error.retry_after_s is not None
    assert 1 <= error.retry_after_s <= 59


def test_what_is_given_back_is_free_for_others_and_is_given_back_once():
    of = BodyBudget()
    one, two = (a_share(of, limit=100, budget=100) for _ in range(2))
    one.add(60, 60)
    one.close()
    one.close()
    two.add(100, 100)
    assert of.used == 100
    two.close()
    assert of.used == 0


def test_refused_body_is_given_back_whole():
    of = BodyBudget()
    share = a_share(of, limit=10, budget=100)
    share.add(8, 8)
    refused("body_too_large", share.add, 8, 16)
    share.close()
    assert of.used == 0


def test_limit_of_a_body_is_told_before_the_budget():
    """It is the one that waiting does not cure."""
    refused("body_too_large", a_share(limit=10, budget=5).add, 11, 11)


def test_repr_is_read_by_people():
    of = BodyBudget()
    a_share(of, limit=10, budget=10).add(3, 3)
    assert repr(of) == "<BodyBudget 3 bytes>"
