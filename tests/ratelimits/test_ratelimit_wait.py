# How long a refusal says to wait: every form of Retry-After, what outranks what, and what must not be believed.

from datetime import UTC, datetime

import pytest

from proxy.ratelimits import classify

NOW = datetime(2026, 10, 8, 12, tzinfo=UTC).timestamp()


def wait_ms(*headers, body=b"", now=NOW):
    return classify(429, list(headers), body, now=now).retry_after_ms


def retry_after(*values, now=NOW):
    return wait_ms(*(("Retry-After", value) for value in values), now=now)


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("5", 5000),
        ("0", 0),
        ("60.5", 60_500),
        ("1.1", 1100),  # 1.1 * 1000 is 1100.0000000000002 to a float
        ("0.0001", 1),
        (" 7\t", 7000),
        ("007", 7000),
        ("7, 7", 7000),
        ("60, 120", 120_000),
        ("34.07s", 34_070),
        ("1h2m3.4s", 3_723_400),
        ("315360000", 315_360_000_000),
        ("1791460845", 45_000),
        ("1791460845.5", 45_500),
        ("1791460845000", 45_000),
        ("1000000000", 0),
        ("Thu, 08 Oct 2026 12:00:30 GMT", 30_000),
        ("Fri, 08 Oct 2026 12:00:30 GMT", 30_000),  # it was a Thursday, and whoever writes a date seldom means its name
        ("Thursday, 08-Oct-26 12:00:30 GMT", 30_000),
        ("Thu Oct  8 12:00:30 2026", 30_000),
        ("Thu, 08 Oct 2026 11:00:00 GMT", 0),
        ("Friday, 08-Oct-99 12:00:30 GMT", 0),  # 1999: 2099 would be more than 50 years ahead
        ("2026-10-08T12:00:30Z", 30_000),
        ("2026-10-08T14:00:30.25+02:00", 30_250),
    ],
)
def test_a_form_that_servers_really_send_is_understood(value, ms):
    assert retry_after(value) == ms


@pytest.mark.parametrize(
    "value",
    [
        *("", "soon", "-1", "-0.5", "+5", "1e3", "1_000", "0x10", "5;", ".5", "5.", "5 s", "1d", "nan", "inf", "1e400"),
        *("１２", "²", "٣", "ÿþ", "\x00", "5\n", "9" * 5000, "1, soon", "5,", ","),
        *("315360001", "99999999999999999999"),  # more than ten years
        "Mon, 30 Feb 2026 12:00:30 GMT",
        "Thu, 08 Oct 2026 12:00:60 GMT",
        "Thu, 08 Oct 2026 24:00:00 GMT",
        "Thu, 08 Oct 2026 12:00:30 +0000",
        "Thu, 8 Oct 2026 12:00:30 GMT",
        "2026-10-08T12:00:30",
        "2026-02-30T12:00:30Z",
    ],
)
def test_what_is_none_of_them_says_nothing(value):
    assert retry_after(value) is None


def test_of_several_header_lines_the_longest_counts_and_a_broken_one_hides_none():
    assert retry_after("5", "60") == 60_000
    assert retry_after("60", "soon", "5") == 60_000


def test_a_date_is_measured_against_the_clock_of_the_server_that_wrote_it():
    date = ("Date", "Thu, 08 Oct 2026 11:50:00 GMT")
    assert wait_ms(("Retry-After", "Thu, 08 Oct 2026 11:50:20 GMT"), date) == 20_000
    assert wait_ms(("Retry-After", "Thu, 08 Oct 2026 12:00:20 GMT"), ("Date", "yesterday")) == 20_000


def test_a_fraction_of_a_second_of_our_own_clock_is_kept():
    assert retry_after("1791460845", now=NOW + 0.25) == 44_750


def test_milliseconds_outrank_seconds_and_both_outrank_private_headers_body_and_buckets():
    everything = [
        (("retry-after-ms", "250"), 250),
        (("Retry-After", "2"), 2000),
        (("x-ratelimit-user-retry-after", "3"), 3000),
        (b'{"error":{"message":"Please try again in 5s.","retry_after_seconds":4}}', 4000),
        (b'{"error":{"message":"Please try again in 5s."}}', 5000),
        (("x-ratelimit-remaining-requests", "0"), None),
    ]
    reset = ("x-ratelimit-reset-requests", "6s")
    for first in range(len(everything)):
        rest = [place for place, _ in everything[first:]]
        headers = [place for place in rest if isinstance(place, tuple)]
        body = next((place for place in rest if isinstance(place, bytes)), b"")
        assert wait_ms(*headers, reset, body=body) == (everything[first][1] or 6000)


@pytest.mark.parametrize("value", ["0", "-1", "invalid", "nan", "1e3", "99999999999999"])
def test_milliseconds_that_are_no_positive_number_leave_the_word_to_retry_after(value):
    assert wait_ms(("retry-after-ms", value), ("retry-after", "2")) == 2000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("Please try again in 1.2s.", 1200),
        ("Please try again in 28ms. Visit us", 28),
        ("Please try again in 6m0s.", 360_000),
        ("Please retry after 26 seconds", 26_000),
        ("try again after 1 seconds", 1000),
        ("Please wait 40 seconds before retrying", 40_000),
        ("Try again in 1 minute and 5 seconds", 65_000),
        ("Your quota will reset after 1m16s", 76_000),
        ("Your limit will reset at 2026-10-08 20:00:30", 30_000),  # Z.ai: UTC+8
        ("Limit resets at: 2026-10-08 12:00:30 UTC", 30_000),
        ("Limit resets at: 2026-10-08 12:00:30", 30_000),
        ("Your limit will reset at 2026-02-30 20:00:30", None),
        ("Try again in 5 more minutes", None),
        ("Try again in 5 moments", None),
        ("We waited 5 seconds", None),
        ("retry in １２ seconds", None),
        ("retry in 12 ſ", None),
        ("wait " + "9" * 4000 + " seconds", None),
    ],
)
def test_prose_is_read_where_it_is_unmistakable(text, ms):
    assert wait_ms(body=text.encode()) == ms


def test_of_the_exhausted_buckets_the_last_one_to_recover_counts_and_full_ones_do_not():
    buckets = [
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "20ms"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "7.66s"),
        ("x-ratelimit-remaining-project-tokens", "12"),
        ("x-ratelimit-reset-project-tokens", "9m"),
    ]
    assert wait_ms(*buckets) == 7660


def test_an_answer_without_a_limit_states_no_wait():
    assert classify(413, [("retry-after", "65")], b"", now=NOW).retry_after_ms is None
    assert classify(200, [("retry-after", "65")], b'{"id":1}', now=NOW).retry_after_ms is None


def test_a_rate_limit_of_an_hour_is_a_quota():
    assert classify(429, [("retry-after", "3599")], b"", now=NOW).kind == "rate"
    assert classify(429, [("retry-after", "3600")], b"", now=NOW).kind == "quota"
    assert classify(503, [("retry-after", "3600")], b"", now=NOW).kind == "overload"
