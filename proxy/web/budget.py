# How much memory waiting bodies may take (spec §3.1: body_limit, body_budget).

from proxy.config import Queue
from proxy.errors import OwnAnswer

FRAMED_MAX = 8  # a chunk of one byte takes six; more framing than that is not meant well


class BodyBudget:
    """All bodies that are being read or wait, together."""

    def __init__(self) -> None:
        self.used = 0

    def __repr__(self) -> str:
        return f"<BodyBudget {self.used} bytes>"

    def share(self, provider_id: str, settings: Queue) -> "Share":
        """The part of one request for a provider; give it back with `close`."""
        return Share(self, provider_id, settings)


class Share:
    """What one request's body takes."""

    __slots__ = ("_of", "_provider_id", "_settings", "used")

    def __init__(self, of: BodyBudget, provider_id: str, settings: Queue) -> None:
        self.used = 0
        self._of = of
        self._provider_id = provider_id
        self._settings = settings

    def check_length(self, length: int) -> None:
        """OwnAnswer if a body announced with `length` bytes is too large to begin with."""
        if length > self._settings.body_limit:
            raise self._too_large()

    def add(self, size: int, payload: int) -> None:
        """More of the body has arrived: `size` bytes, framing included, after which it has `payload` bytes without.
        OwnAnswer `body_too_large` or `body_budget`."""
        limit = self._settings.body_limit
        self.used += size
        self._of.used += size
        if payload > limit or self.used > FRAMED_MAX * limit:
            raise self._too_large()
        if self._of.used > self._settings.body_budget:
            raise OwnAnswer(
                "body_budget",
                f"provider {self._provider_id}: waiting request bodies fill the memory that is kept for them"
                f" ({self._settings.body_budget} bytes)",
                retry_after_s=5,
            )

    def close(self) -> None:
        """Give it back; again does no harm."""
        self._of.used -= self.used
        self.used = 0

    def _too_large(self) -> OwnAnswer:
        limit = self._settings.body_limit
        return OwnAnswer(
            "body_too_large",
            f"provider {self._provider_id}: the request's body is larger than queue.body_limit ({limit} bytes)",
        )
