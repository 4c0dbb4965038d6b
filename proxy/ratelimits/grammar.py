# The ways a server writes "when": seconds, Go durations, epochs, RFC 3339 and the three HTTP dates, also in prose.
#
# Rule 1: ASCII only and whole-string matches; what is not exactly one of these forms is None, never an exception.
#         (`float` would take "nan", "1e400" and full-width digits; `datetime` parsers take impossible dates.)
# Rule 2: arithmetic is decimal and rounds up to whole milliseconds: 1.1 s is 1100 ms, 41.733912 s is 41734 ms.
# Rule 3: the past is 0, more than ten years ahead is nonsense.

import re
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

TEN_YEARS_MS = 3650 * 86_400_000
_LONGEST = 64  # characters of a value worth reading; a header of 5000 digits says nothing
_EPOCH_S = Decimal(10**9)  # as a delay this would be 31 years, so it is a date in seconds …
_EPOCH_MS = Decimal(10**12)  # … and from here on in milliseconds

_NUMBER = r"[0-9]{1,40}(?:\.[0-9]{1,40})?"
_UNITS = {
    "d": "86400",
    "h": "3600",
    "m": "60",
    "s": "1",
    "ms": "1e-3",
    "us": "1e-6",
    "µs": "1e-6",
    "ns": "1e-9",
}  # in s
_WORDY_UNITS = "milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d"

_SECONDS = re.compile(_NUMBER)
_DURATION = re.compile(rf"(?:{_NUMBER}(?:h|ms|m|s|us|µs|ns))+")
_PIECE = re.compile(rf"({_NUMBER})\s*(milli|ms|us|µs|ns|[dhms])")

_CLOCK = r"(?P<h>[0-9]{2}):(?P<mi>[0-9]{2})(?::(?P<s>[0-9]{2})(?P<frac>\.[0-9]{1,9})?)?"
_ZONE = r"(?P<zone>Z|z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})"
_ISO_DAY = r"(?P<y>[0-9]{4})-(?P<mo>[0-9]{2})-(?P<d>[0-9]{2})"
_ISO = re.compile(rf"{_ISO_DAY}[Tt ]{_CLOCK} ?{_ZONE}")

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY3 = f"(?:{'|'.join(day[:3] for day in _DAYS)})"
_MONTH = f"(?P<mon>{'|'.join(_MONTHS)})"
_TIME = r"(?P<h>[0-9]{2}):(?P<mi>[0-9]{2}):(?P<s>[0-9]{2})"
_HTTP_DATES = (  # RFC 9110 5.6.7: the preferred form, then the two that must still be read
    re.compile(rf"{_DAY3}, (?P<d>[0-9]{{2}}) {_MONTH} (?P<y>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(rf"(?:{'|'.join(_DAYS)}), (?P<d>[0-9]{{2}})-{_MONTH}-(?P<y>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(rf"{_DAY3} {_MONTH} (?P<d>[0-9]{{2}}| [0-9]) {_TIME} (?P<y>[0-9]{{4}})"),
)

_LOOSE = re.IGNORECASE | re.ASCII  # without ASCII, "s" would also be the long s of old prints

# Prose: "try again in 6m0s", "Please retry after 26 seconds", "wait 1 minute and 5 seconds".
_PROSE_DURATION = re.compile(
    r"\b(?:(?:try|retry|retrying|resets?|available)(?: again)?(?: (?:your|the) request)? (?:in|after)|wait(?: for)?)"
    r" (?:about |approximately |at least |another )?"
    rf"(?P<wait>{_NUMBER} ?(?:{_WORDY_UNITS})(?:(?:,| and|,? )? ?{_NUMBER} ?(?:{_WORDY_UNITS}))*)(?![a-z0-9])",
    _LOOSE,
)
_PROSE_STAMP = rf"{_ISO_DAY}(?:T| at | ){_CLOCK}(?: ?{_ZONE})?"
_PROSE_STAMPS = (  # what stands before the stamp, and what a stamp without a zone means there
    (re.compile(rf"limit will reset at {_PROSE_STAMP}", _LOOSE), "+08:00"),  # Z.ai: Beijing time
    (re.compile(rf"将在 ?{_PROSE_STAMP}"), "+08:00"),  # Z.ai, in Chinese
    (re.compile(rf"(?:resets?|access|again|available|until)(?: at| on| after)?:? {_PROSE_STAMP}", _LOOSE), "Z"),
)


class Clock(NamedTuple):
    """`now` is ours, `served` the answer's own Date where it has one: an HTTP date is measured against the clock that
    wrote it. Both are epoch seconds."""

    now: Decimal
    served: Decimal


def clock(now: float, date: str) -> Clock:
    """The clock of an answer that arrived at `now` with this Date header ("" for none)."""
    ours = Decimal(repr(now))
    return Clock(ours, _http_date(date, ours) or ours)


def number(text: str) -> Decimal | None:
    """A non-negative decimal number, or None."""
    text = text.strip(" \t")
    return Decimal(text) if len(text) <= _LONGEST and _SECONDS.fullmatch(text) else None


def millis(text: str) -> int | None:
    """A positive number of milliseconds."""
    value = number(text)
    return _ms(value / 1000) if value else None


def wait(text: str, at: Clock) -> int | None:
    """Milliseconds until what a header or a field of this value names: a delay, or a moment in any of the forms."""
    text = text.strip(" \t")
    if len(text) > _LONGEST:
        return None
    if (seconds := number(text)) is not None:
        return _ms(_delay(seconds, at))
    if _DURATION.fullmatch(text):
        return _ms(_sum(text))
    if (moment := _stamp(_ISO.fullmatch(text), "Z")) is not None:
        return _ms(moment - at.now)
    if (moment := _http_date(text, at.now)) is not None:
        return _ms(moment - at.served)
    return None


def wait_of_any(text: str, at: Clock) -> int | None:
    """As `wait`; and "7, 7", as libraries fold a repeated header: the longest, if every part is a number."""
    parts = text.split(",")
    if len(text) <= _LONGEST and len(parts) > 1 and all(number(part) is not None for part in parts):
        return max((ms for part in parts if (ms := wait(part, at)) is not None), default=None)
    return wait(text, at)


def wait_in_prose(text: str, at: Clock) -> int | None:
    """What a sentence for people says: a duration first, else a date."""
    if found := _PROSE_DURATION.search(text):
        return _ms(_sum(found["wait"].lower()))
    for pattern, zone in _PROSE_STAMPS:
        if (moment := _stamp(pattern.search(text), zone)) is not None:
            return _ms(moment - at.now)
    return None


def _ms(seconds: Decimal) -> int | None:
    if seconds * 1000 > TEN_YEARS_MS:
        return None
    return max(0, int((seconds * 1000).to_integral_value(rounding=ROUND_CEILING)))


def _delay(value: Decimal, at: Clock) -> Decimal:
    if value < _EPOCH_S:
        return value
    return (value if value < _EPOCH_MS else value / 1000) - at.now


def _sum(durations: str) -> Decimal:
    pieces = ((value, "ms" if unit == "milli" else unit) for value, unit in _PIECE.findall(durations))
    return sum((Decimal(value) * Decimal(_UNITS[unit]) for value, unit in pieces), Decimal(0))


def _stamp(found: re.Match[str] | None, default_zone: str) -> Decimal | None:
    if found is None:
        return None
    zone = found["zone"] or default_zone
    east_min = int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[-2:])) if zone[0] in "+-" else 0
    moment = _moment(found["y"], found["mo"], found["d"], found["h"], found["mi"], found["s"] or "0")
    return None if moment is None else _epoch(moment) + Decimal("0" + (found["frac"] or "")) - east_min * 60


def _http_date(text: str, now: Decimal) -> Decimal | None:
    found = next((hit for form in _HTTP_DATES if (hit := form.fullmatch(text.strip(" \t")))), None)
    if found is None:
        return None
    year = int(found["y"])
    if len(found["y"]) == 2:  # RFC 9110 5.6.7: what looks more than 50 years ahead is of the past century
        latest = datetime.fromtimestamp(int(now), UTC).year + 50
        year = latest - (latest - year) % 100
    moment = _moment(year, _MONTHS.index(found["mon"]) + 1, found["d"], found["h"], found["mi"], found["s"])
    return None if moment is None else _epoch(moment)  # a wrong weekday is only that: no client checks it


def _moment(year: int | str, month: int | str, day: str, hour: str, minute: str, second: str) -> datetime | None:
    try:
        return datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:  # the 30th of February, 24:00, second 60
        return None


def _epoch(moment: datetime) -> Decimal:
    return Decimal(int(moment.timestamp()))
