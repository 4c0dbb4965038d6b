# The answers of one socket that are asked for and have not ended, in the order in which they were asked for. Pure.
#
# Rule 1: what the upstream says belongs to the answer whose id it names, or else its stream, or else to the oldest. An
#         answer gets its id from the first `response.created` that no older one of its stream has taken.
# Rule 2: an id that has ended is nobody's: an end may be told twice, and the second must not end the next answer. An id
#         that nobody knows may be an open answer's: there are gateways that name another at the end than at the
#         beginning. One that begins anew is a new answer's: there are some that give them all the same.
# Rule 3: what fails twice at once, as `error` and then as `response.failed`, has failed once: the second is nobody's as
#         long as nothing of the next answer has come. Two of the same kind are two answers', as far as one can know.

from collections import deque
from collections.abc import Iterator

from proxy.web.socket.answer import Answer
from proxy.web.socket.protocol import ERROR, FAILED, Event

ENDED_KNOWN = 64  # ids of one socket's answers; the second end comes soon behind the first


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
        self._ended: deque[str] = deque(maxlen=ENDED_KNOWN)
        self._told = False  # the last that was said is an `error`, which has ended an answer

    def __repr__(self) -> str:
        return f"<UnderWay {len(self._asked)}>"

    def __len__(self) -> int:
        return len(self._asked)

    def answers(self) -> Iterator[Answer]:
        """Those that take a slot."""
        return (asked.answer for asked in self._asked if asked.answer is not None)

    def add(self, stream: str | None, answer: Answer | None) -> None:
        self._asked.append(Asked(stream, answer))

    def end(self, asked: Asked, event: Event) -> None:
        """The upstream will say no more of it."""
        self._asked.remove(asked)
        self._told = event.kind == ERROR
        response = asked.response or event.response
        if response is not None and all(other.response != response for other in self._asked):
            self._ended.append(response)

    def clear(self) -> None:
        self._asked.clear()

    def is_behind(self) -> None:
        """Another message went up: none of these can be said again without changing places with it."""
        for answer in self.answers():
            answer.alone = False

    def any_unbegun(self) -> bool:
        return any(not answer.begun for answer in self.answers())

    def any_again(self) -> bool:
        """Whether one is asked for again after a refusal, and nothing of it has come."""
        return any(answer.tries and not answer.begun for answer in self.answers())

    def moved(self, size: int, now: float) -> None:
        """Bytes of messages have come. Whose they are is not looked at: the oldest has them, and all are alive."""
        for answer in self.answers():
            answer.moved(size, now)
            size = 0

    def whose(self, event: Event) -> Asked | None:
        """The one that an event is about."""
        told, self._told = self._told, False
        if event.begins:
            fresh = [asked for asked in self._asked if asked.response is None]
            found = next((asked for asked in fresh if asked.stream == event.stream), fresh[0] if fresh else None)
            if found is not None:
                found.response = event.response
                self._ended = deque((ended for ended in self._ended if ended != event.response), ENDED_KNOWN)
            return found
        named = (asked for asked in self._asked if event.response is not None and asked.response == event.response)
        found = next(named, None)
        if found is not None or event.response in self._ended:
            return found
        same = (asked for asked in self._asked if event.stream is not None and asked.stream == event.stream)
        found = next(same, None) or next(iter(self._asked), None)
        again = told and event.kind == FAILED and found is not None and found.response is None
        return None if again else found
