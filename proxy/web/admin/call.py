# What one call of the admin API is: its place, what it takes, what it answers.
#
# Rule 1: the routes and /openapi.json are both made of these; neither can know a call that the other does not.
# Rule 2: every refusal is a CallError; what the caller reads is `{"error": {"code", "message"}}`.

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from aiohttp import web

from proxy.errors import SlotgateError
from proxy.service.runtime import Runtime

Schema = Mapping[str, object]  # JSON Schema 2020-12, which OpenAPI 3.1 uses
Handler = Callable[[Runtime, web.Request], Awaitable[web.StreamResponse]]
T_co = TypeVar("T_co", covariant=True)

JSON = "application/json"


class Field(Protocol[T_co]):
    """The one field that a body holds. `allowed` is the phrase that an error names."""

    @property
    def name(self) -> str: ...

    @property
    def allowed(self) -> str: ...

    @property
    def schema(self) -> Schema: ...

    def read(self, value: object) -> T_co:
        """The value; ValueError for every other."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number. JSON's true and 1.0 are none."""

    name: str
    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    @property
    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def read(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ValueError(self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class Truth:
    """true or false, and not 0 or 1."""

    name: str
    allowed: str = "true or false"

    @property
    def schema(self) -> Schema:
        return {"type": "boolean"}

    def read(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError(self.allowed)  # noqa: TRY004 - whoever reads a body expects one kind of error
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One way in which a call is answered; `schema` is None where there is no body, or none that a schema describes."""

    says: str
    schema: Schema | None = None
    media: str | None = None

    @property
    def content_type(self) -> str | None:
        return self.media or (None if self.schema is None else JSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One method at one path, whose `{parts}` are percent-decoded. What is wrong in the form of a request (400, 413,
    415) and who may not ask (401, 403, 421) follows from the rest and is not among the answers. `open`: also for those
    who have no token."""

    method: str
    path: str
    says: str
    handler: Handler
    answers: Mapping[int, Answer]
    takes: Field[object] | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    open: bool = False


class CallError(SlotgateError):
    """The call is refused with `status`; the message is for people."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}


def refusal(error: CallError, **more: object) -> web.Response:
    """The answer for `error`; `more` stands beside it."""
    body = {"error": {"code": error.code, "message": error.message}, **more}
    return web.json_response(body, status=error.status, headers=error.headers)


def stored(value: Mapping[str, object], persisted: bool) -> web.Response:
    """The answer to a write; it says so when the change holds in memory alone."""
    return web.json_response(dict(value) if persisted else {**value, "persisted": False})
