# Events in words: every kind, and nothing of what a client chose.

import pytest

from proxy.service.history.marks import EVENTS, KINDS, mark
from proxy.service.vocabulary import EFFECTS
from proxy.store import SavedEvent

AT = 1_700_000_000_000


def event(name: str, **data: object) -> SavedEvent:
    return SavedEvent(at=AT, name=name, provider_id="p", data=data)


@pytest.mark.parametrize(
    ("told", "kind", "text"),
    [
        (
            event("rate_limited", status=429, kind="concurrency", retryAfterMs=30_000, inFlight=4, workspaceId="<b>"),
            "rate_limited",
            "refused with 429: too many at once, retry after 30 s; 4 in flight",
        ),
        (
            event("rate_limited", status=529, kind="overload", retryAfterMs=None, inFlight=1),
            "rate_limited",
            "refused with 529: overloaded; 1 in flight",
        ),
        (
            event("reduced", limit=3, originalLimit=4),
            "reduced",
            "limit reduced to 3; before the first refusal it was 4",
        ),
        (event("paused", cause="concurrency", until=AT + 30_000), "paused", "paused for 30 s: too many at once"),
        (event("paused", cause="operator", until=AT + 7_200_000), "paused", "paused for 2 h: by hand"),
        (event("paused", cause="=1+1", until=AT + 400), "paused", "paused for 0.4 s: for another reason"),
        (event("resumed", cause="elapsed"), "resumed", "the pause is over"),
        (event("resumed", cause="operator"), "resumed", "resumed by hand"),
        (event("resumed", cause="unlimited"), "resumed", "resumed: there is no limit any more"),
        (event("limit_set", limit=5, by="api"), "limit_set", "limit set to 5 by hand"),
        (event("limit_set", limit=5, by="file"), "limit_set", "limit set to 5 by the file"),
        (event("limit_set", limit=2, by="learned"), "limit_set", "limit set to 2 as learned from refusals"),
        (event("limit_set", limit=None, by="api"), "limit_set", "limit removed by hand"),
        (event("limit_set", limit=4, by="restore"), "restored", "limit back up to 4, by hand"),
        (event("limit_set", limit=4, by="auto_restore"), "restored", "limit back up to 4, by itself"),
        (event("reclaimed", why="silent", afterMs=300_000), "reclaimed", "slot reclaimed: silent for 5 min"),
        (event("reclaimed", why="max_hold", afterMs=90_000), "reclaimed", "slot reclaimed: held for 1 min 30 s"),
        (event("reclaimed", why="operator", afterMs=1500), "reclaimed", "slot reclaimed: by hand after 2 s"),
    ],
)
def test_event_has_a_mark(told: SavedEvent, kind: str, text: str) -> None:
    assert mark(told) == (AT, kind, text)
    assert kind in KINDS


@pytest.mark.parametrize("name", EVENTS)
def test_event_of_another_version_has_a_mark_too(name: str) -> None:
    assert mark(event(name)).text


def test_marks_are_made_of_events_that_are_kept() -> None:
    kept = {words.event for words, _ in EFFECTS.values() if words.event and not words.of_a_request}
    assert set(EVENTS) == kept
