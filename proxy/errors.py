# Every error of the proxy: its name, whose side it was on, and what the client is told.
#
# Rule 1: a foreign exception is mapped to one of these once, at the edge where it appears.
# Rule 2: the proxy never invents a 429; whoever reads an answer can tell ours by `X-Slotgate-Error`.

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Whose fault an error is."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    OURS = "ours"


# code -> (HTTP status, error type that OpenAI and Anthropic clients know)
OWN_ANSWERS: dict[str, tuple[int, str]] = {
    "bad_request": (400, "invalid_request_error"),
    "unknown_upstream": (404, "not_found_error"),
    "request_timeout": (408, "invalid_request_error"),
    "body_too_large": (413, "request_too_large"),
    "websocket_refused": (426, "invalid_request_error"),
    "internal": (500, "api_error"),
    "unsupported": (501, "invalid_request_error"),
    "upstream_unreachable": (502, "api_error"),
    "upstream_bad_response": (502, "api_error"),
    "queue_full": (503, "overloaded_error"),
    "queue_timeout": (503, "overloaded_error"),
    "paused": (503, "overloaded_error"),
    "dropped": (503, "overloaded_error"),
    "draining": (503, "overloaded_error"),
    "body_budget": (503, "overloaded_error"),
    "upstream_timeout": (504, "timeout_error"),
    "reclaimed": (504, "timeout_error"),
}


class SlotgateError(Exception):
    """Base of every error of this package."""


class OwnAnswer(SlotgateError):
    """The proxy answers the client itself. `code` is one of OWN_ANSWERS; `message` is for people, without a secret;
    `retry_after_s` (1–59) is set where a later try makes sense."""

    def __init__(self, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s
        self.status, self.type = OWN_ANSWERS[code]

    def __repr__(self) -> str:
        return f"<OwnAnswer {self.status} {self.code}: {self.message}>"


class WireError(SlotgateError):
    """Something on a connection went wrong; `side` says whose connection it was."""

    side = Side.OURS


class BadMessage(WireError):
    """Bytes that are not the HTTP/1.1 we accept. Whoever sent them is told by the reader (400 or 502). `sound` is how
    many bytes of the last piece, in front of the fault, are right."""

    sound = 0


class BadFrame(WireError):
    """Bytes that are no WebSocket frames, or none that their sender may send; `code` is the close code that says so."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ConnectFailed(WireError):
    """The upstream could not be reached: nothing was sent."""

    side = Side.UPSTREAM


class ConnectTimedOut(ConnectFailed):
    """The upstream could not be reached within connect_timeout: nothing was sent."""


class StaleConnection(WireError):
    """A reused connection turned out closed before one byte of an answer: the request may be sent once more."""

    side = Side.UPSTREAM


class BadResponse(WireError):
    """The upstream's answer could not be read, or never began; nothing of it reached the client."""

    side = Side.UPSTREAM


class UpstreamCut(WireError):
    """The upstream died in the middle of its answer."""

    side = Side.UPSTREAM


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a configuration: where, what was found, and what is allowed."""

    file: str
    line: int | None
    path: str
    found: str
    allowed: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        key = f" {self.path}:" if self.path else ""
        return f"{place}:{key} {self.found}; {self.allowed}"


class ConfigErrors(SlotgateError):
    """Everything that is wrong with a configuration, all at once."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class StoreError(SlotgateError):
    """The state could not be read or written; the message says what, where and why."""
