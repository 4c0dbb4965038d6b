# The number at a dotted field of a provider's answer, or why there is none (spec §8).

import pytest

from proxy.service.gate import BODY_MAX, Reading, read_count

FIELD = "usage.concurrent_sessions"


@pytest.mark.parametrize(
    ("body", "field", "observed"),
    [
        (b'{"usage":{"concurrent_sessions":3}}', FIELD, 3),
        (b'{"usage":{"concurrent_sessions":0}}', FIELD, 0),
        (b'{"usage":{"concurrent_sessions":3.0}}', FIELD, 3),
        (b'{"usage":{"concurrent_sessions":2.1}}', FIELD, 3),  # a fraction of a session is a session
        (b'{"usage":{"concurrent_sessions":"4"}}', FIELD, 4),
        (b'{"usage":{"concurrent_sessions":" 4 "}}', FIELD, 4),
        (b'{"n":7}', "n", 7),
        (b'\n {"a":{"b":{"c":1}}} ', "a.b.c", 1),
        (b'{"a.b":5,"a":{"b":6}}', "a.b", 6),
        ('{"ä":1}'.encode(), "ä", 1),
        (b'{"n":1,"n":2}', "n", 2),
    ],
)
def test_number_is_found(body, field, observed):
    assert read_count(body, field) == Reading(observed, None)


@pytest.mark.parametrize(
    "body",
    [
        b'{"usage":{"concurrent_sessions":null}}',
        b'{"usage":{}}',
        b"{}",
        b'{"usage":null}',
        b'{"usage":[{"concurrent_sessions":1}]}',
        b'{"usage":"concurrent_sessions"}',
        b'[{"usage":{"concurrent_sessions":1}}]',
        b"3",
        b"null",
        b'{"usage":{"concurrent_sessions":true}}',
        b'{"usage":{"concurrent_sessions":-1}}',
        b'{"usage":{"concurrent_sessions":"-1"}}',
        b'{"usage":{"concurrent_sessions":"many"}}',
        b'{"usage":{"concurrent_sessions":"1e3"}}',
        b'{"usage":{"concurrent_sessions":""}}',
        b'{"usage":{"concurrent_sessions":NaN}}',
        b'{"usage":{"concurrent_sessions":Infinity}}',
        b'{"usage":{"concurrent_sessions":1e400}}',
        b'{"usage":{"concurrent_sessions":1000000000}}',
        b'{"usage":{"concurrent_sessions":{}}}',
        '{"usage":{"concurrent_sessions":"²"}}'.encode(),
    ],
)
def test_what_is_no_number_is_no_information(body):
    """USE-02: never read as 0."""
    assert read_count(body, FIELD) == Reading(None, f"no number at {FIELD}")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{", b"\xff\xfe\x00", b'{"usage":', b"[" * 100_000, b"1" * 5000, b"'3'"]
)
def test_what_is_no_json_is_no_information(body):
    assert read_count(body, FIELD) == Reading(None, "the body is not JSON")


def test_body_may_have_a_mebibyte_and_no_more():
    body = b'{"n":1,"padding":"' + b"x" * (BODY_MAX - 20) + b'"}'
    assert len(body) == BODY_MAX
    assert read_count(body, "n") == Reading(1, None)
    assert read_count(body + b" ", "n") == Reading(None, "the body is larger than 1 MiB")
