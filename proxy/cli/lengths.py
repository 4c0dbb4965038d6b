# Times and lengths of time of the admin API, which are whole milliseconds, for people.
#
# Rule 1: there is one way to write them, the one of service/words.py. A setting is shown as it is typed: 350ms.

from datetime import datetime

from proxy.service.words import lasting, rough

_MOMENT_MS = 1000


def span(ms: float) -> str:
    """`28 s`, `1 min 55 s`, `2 h 5 min`."""
    return lasting(ms / 1000)


def estimate(ms: float) -> str:
    """One that nobody can know so exactly: `1 min 30 s`."""
    return rough(ms / 1000)


def ago(ms: float) -> str:
    return "just now" if ms < _MOMENT_MS else f"{span(ms)} ago"


def moment(at_ms: int) -> datetime:
    """Epoch milliseconds as the clock here has them."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone()
