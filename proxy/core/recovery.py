# When a limit that rate limits have lowered goes up again by itself (auto_restore; opt-in).
#
# Rule 1: one step after `after_s` without a rate limit; a refusal begins that time anew.
# Rule 2: a refusal within `after_s` of a step shows that the step was wrong: the limit goes down as after any other,
#         and the next step takes twice as long. A step that nobody refused for so long has held: the time is as
#         configured again.

_LONGEST_S = 86_400.0  # once a day it may be tried, whatever happened


class Recovery:
    """`due_at` is when the next step is to be made; None: never, nothing is reduced or nobody asked for it."""

    __slots__ = ("_configured_s", "_on_trial_until", "after_s", "due_at")

    def __init__(self, configured_s: float | None, after_s: float | None = None) -> None:
        self._configured_s = configured_s
        self.after_s = configured_s if configured_s is None or after_s is None else max(configured_s, after_s)
        self.due_at: float | None = None
        self._on_trial_until: float | None = None

    def configure(self, configured_s: float | None, now: float, *, reduced: bool) -> None:
        """A new configuration; one that says the same changes nothing."""
        if configured_s != self._configured_s:
            self._configured_s = self.after_s = configured_s
            self._on_trial_until = None
            self.wait(now, reduced=reduced)

    def wait(self, now: float, *, reduced: bool) -> None:
        """From `now` on it must be quiet for a while, if there is something to restore."""
        self.due_at = now + self.after_s if reduced and self.after_s is not None else None

    def refused(self, now: float, *, reduced: bool) -> None:
        """The provider said that we ask for too much."""
        if self._on_trial_until is not None and self.after_s is not None:
            self.after_s = min(self.after_s * 2, _LONGEST_S) if self.on_trial(now) else self._configured_s
        self._on_trial_until = None
        self.wait(now, reduced=reduced)

    def stepped(self, now: float, *, reduced: bool) -> None:
        """The limit went one step up."""
        assert self.after_s is not None
        self._on_trial_until = now + self.after_s
        self.wait(now, reduced=reduced)

    def on_trial(self, now: float) -> bool:
        """Whether the last step is so new that a refusal is put down to it."""
        return self._on_trial_until is not None and now < self._on_trial_until

    def forget(self) -> None:
        """A person has decided about the limit."""
        self.after_s = self._configured_s
        self.due_at = self._on_trial_until = None

    def __repr__(self) -> str:
        return f"<Recovery {'none' if self.due_at is None else f'at {self.due_at:.3f}'} after {self.after_s} s>"
