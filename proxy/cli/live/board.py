# What is on the screen and what a key does about it.
#
# Rule 1: pure: news and keys in, changes out.
# Rule 2: what is selected stays selected while rows come, go and move; a question is about the row it was asked for.

from collections.abc import Callable
from typing import Any, NamedTuple

from proxy.cli.failure import Failure
from proxy.cli.live import changes
from proxy.cli.live.changes import Change
from proxy.cli.live.facts import Facts
from proxy.cli.overview import worth_a_row
from proxy.cli.waiting import who

PROVIDER, SLOT, WAITER = "provider", "slot", "waiter"
_PAGE = 10  # rows
_QUIT = ("q", "ctrl-c", "ctrl-d")


class Row(NamedTuple):
    """One that can be selected; `entry` is what the proxy says about it."""

    kind: str
    provider_id: str
    id: str
    entry: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, str]:
        return self[:3]


class Question(NamedTuple):
    words: str
    change: Change


class Board:
    """`facts` are the last ones; `lost` says why there are no newer ones, "" if there are."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.lost = ""
        self.said = ""
        self.question: Question | None = None
        self.helping = self.everything = self.over = False
        self.rows = _rows(facts, everything=False)
        self.index = 0
        self._doing: dict[str, Callable[[Row], Change | None]] = {
            "s": self._star,
            "p": lambda row: changes.toggle_pause(row.provider_id),
            "r": lambda row: changes.restore(row.provider_id),
            "+": lambda row: changes.step(row.provider_id, 1),
            "=": lambda row: changes.step(row.provider_id, 1),  # + without shift
            "-": lambda row: changes.step(row.provider_id, -1),
            "x": self._remove,
        }

    @property
    def selected(self) -> Row | None:
        return self.rows[self.index] if self.rows else None

    def hear(self, news: Facts | Failure | str) -> None:
        """From the feed."""
        if isinstance(news, Facts):
            self.facts, self.lost = news, ""
            self._lay_out()
        elif isinstance(news, Failure):
            self.lost = news.message
        else:
            self.said = news

    def press(self, key: str) -> Change | None:
        """What the key asks of the proxy, if anything."""
        self.said = ""
        if self.question is not None:
            asked, self.question = self.question, None
            if key == "y":
                return asked.change
            self.said = "nothing was changed"
            return None
        if self.helping:
            self.helping = False
        elif key in _QUIT:
            self.over = True
        elif key == "?":
            self.helping = True
        elif key == "a":
            self.everything = not self.everything
            self._lay_out()
        elif key in self._doing:
            return self._doing[key](self.selected) if self.selected else None
        else:
            self._move(key)
        return None

    def _move(self, key: str) -> None:
        last = max(len(self.rows) - 1, 0)
        to = {
            "up": self.index - 1,
            "k": self.index - 1,
            "down": self.index + 1,
            "j": self.index + 1,
            "page up": self.index - _PAGE,
            "page down": self.index + _PAGE,
            "home": 0,
            "g": 0,
            "end": last,
            "G": last,
        }.get(key, self.index)
        self.index = min(max(to, 0), last)

    def _lay_out(self) -> None:
        chosen = self.selected
        self.rows = _rows(self.facts, everything=self.everything)
        keys = [row.key for row in self.rows]
        if chosen is not None and chosen.key in keys:
            self.index = keys.index(chosen.key)
        self.index = min(self.index, max(len(self.rows) - 1, 0))

    def _star(self, row: Row) -> Change | None:
        if row.kind == PROVIDER:
            self.said = "a star is a workspace's: choose a waiter or a slot first"
            return None
        return changes.toggle_star(row.entry["workspaceId"])

    def _remove(self, row: Row) -> None:
        if row.kind == PROVIDER:
            self.said = "choose a waiter or a slot first"
            return
        words, done = (
            (f"Cut off {who(row.entry)} in slot {row.id}", "reclaimed")
            if row.kind == SLOT
            else (f"Send {who(row.entry)} away from place {row.entry['position']}", "dropped")
        )
        change = changes.remove(row.provider_id, row.id, f"{row.provider_id}: {row.kind} {row.id} {done}")
        self.question = Question(f"{words} at {row.provider_id}?", change)


def _rows(facts: Facts, *, everything: bool) -> list[Row]:
    rows = []
    for entry in facts.entries:
        if everything or worth_a_row(entry, facts.at_ms):
            provider_id = entry["providerId"]
            rows.append(Row(PROVIDER, provider_id, "", entry))
            rows += [Row(SLOT, provider_id, slot["id"], slot) for slot in facts.slots(provider_id)]
            rows += [Row(WAITER, provider_id, waiter["id"], waiter) for waiter in facts.waiters(provider_id)]
    return rows
