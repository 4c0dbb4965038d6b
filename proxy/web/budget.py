# How much memory waiting bodies may take (spec §3.1: body_limit, body_budget).

from types import TracebackType

from proxy.errors import OwnAnswer


class BodyBudget:
    """All bodies that are being read or wait, together."""

    def __init__(self) -> None:
        self.used = 0

    def __repr__(self) -> str:
        return f"<BodyBudget {self.used} bytes>"

    def share(self, *, limit: int, budget: int) -> "Share":
        """One request's part; give it back by leaving the `with`, or earlier by `close`."""
        return Share(self, limit, budget)


class Share:
    """What one request's body takes."""

    __slots__ = ("_budget", "_limit", "_of", "used")

    def __init__(self, of: BodyBudget, limit: int, budget: int) -> None:
        self.used = 0
        self._of = of
        self._limit = limit
        self._budget = budget

    def check_length(self, length: int) -> None:
        """OwnAnswer if a body announced with `length` bytes is too large to begin with."""
        if length > self._limit:
            raise self._too_large()

    def add(self, size: int) -> None:
        """More of the body has arrived. OwnAnswer `body_too_large` or `body_budget`."""
        self.used += size
        self._of.used += size
        if self.used > self._limit:
            raise self._too_large()
        if self._of.used > self._budget:
            raise OwnAnswer(
                "body_budget",
                f"waiting request bodies already fill the memory kept for them ({self._budget} bytes)",
                retry_after_s=5,
            )

    def close(self) -> None:
        """Give it back; again does no harm."""
        self._of.used -= self.used
        self.used = 0

    def __enter__(self) -> "Share":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _too_large(self) -> OwnAnswer:
        return OwnAnswer("body_too_large", f"the request's body is larger than queue.body_limit ({self._limit} bytes)")
