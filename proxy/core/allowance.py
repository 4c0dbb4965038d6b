# How many more requests a provider says it will take before a window ends (spec §7.6).
#
# Rule 1: an answer says what is left after its own request; what was let go later may not be counted in it. So it
#         allows grants up to a number, and the latest answer has the last word.
# Rule 2: it holds back only while an answer is to come that will say more, or until the window ends.


from math import inf


class Allowance:
    """`until_at` is when it is over; None: nothing is known. `last_grant` is the last that may go, inf without an end.
    Grants are numbered as by Slots."""

    __slots__ = ("_told_at_grant", "last_grant", "until_at")

    def __init__(self) -> None:
        self.until_at: float | None = None
        self.last_grant: float = inf
        self._told_at_grant = 0

    def tell(self, grant: int, count: int, until_at: float) -> None:
        """The answer to the request of `grant` says that `count` more are taken until then."""
        if grant >= self._told_at_grant:
            self._told_at_grant, self.last_grant, self.until_at = grant, float(grant + count), until_at

    def forget(self) -> None:
        """The window has ended, or nobody is left who could say more."""
        self.until_at, self.last_grant = None, inf

    def __repr__(self) -> str:
        return f"<Allowance {'none' if self.until_at is None else f'to grant {self.last_grant}'}>"
