# The answers of one socket that are asked for and have not ended, in the order in which they were asked for. Pure.
#
# Rule: what the upstream says belongs to the answer whose id it names, or else its stream, or else to the oldest. An
#       answer gets its id from the first `response.created` that no older one of its stream has taken.

from collections.abc import Iterator

from proxy.web.socket.answer import Answer
from proxy.web.socket.protocol import Event


class Asked:
    """A message that went up and asks for an answer; `answer` is None if it takes no slot."""

    __slots__ = ("answer", "response", "stream")

    def __init__(self, stream: str | None, answer: Answer | None) -> None:
        self.stream = stream
        self.answer = answer
        self.response: str | None = None  # its id, once the upstream has said it


class UnderWay:
    """All of them."""

    def __init__(self) -> None:
        self._asked: list[Asked] = []

    def __repr__(self) -> str:
        return f"<UnderWay {len(self._asked)}>"

    def __len__(self) -> int:
        return len(self._asked)

    def answers(self) -> Iterator[Answer]:
        """Those that take a slot."""
        return (asked.answer for asked in self._asked if asked.answer is not None)

    def add(self, stream: str | None, answer: Answer | None) -> None:
        self._asked.append(Asked(stream, answer))

    def remove(self, asked: Asked) -> None:
        self._asked.remove(asked)

    def clear(self) -> None:
        self._asked.clear()

    def is_behind(self) -> None:
        """Another message went up: none of these can be said again without changing places with it."""
        for answer in self.answers():
            answer.alone = False

    def any_unbegun(self) -> bool:
        return any(not answer.begun for answer in self.answers())

    def moved(self, size: int, now: float) -> None:
        """Bytes of messages have come. Whose they are is not looked at: the oldest has them, and all are alive."""
        for answer in self.answers():
            answer.moved(size, now)
            size = 0

    def whose(self, event: Event) -> Asked | None:
        """The one that an event is about."""
        if event.begins:
            fresh = [asked for asked in self._asked if asked.response is None]
            found = next((asked for asked in fresh if asked.stream == event.stream), fresh[0] if fresh else None)
            if found is not None:
                found.response = event.response
            return found
        named = (asked for asked in self._asked if event.response is not None and asked.response == event.response)
        same = (asked for asked in self._asked if event.stream is not None and asked.stream == event.stream)
        return next(named, None) or next(same, None) or next(iter(self._asked), None)
