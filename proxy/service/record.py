# The one wide event of a request: what it holds, and how its line in the log is made.
#
# Rule 1: a record is not changed after its end: it is a line of the log, which another thread writes later.
# Rule 2: `json` and `fields` say the same. Programs read it once per request, so it is put together by hand, in half of
#         the time.

from typing import Final

from proxy.errors import OwnAnswer
from proxy.service.quoting import iso, quoted

EVENT: Final = "request.ended"
PATH_CHARACTERS: Final = 256  # of a request's path in its line: whole for every API there is, and no room for more


class RequestRecord:
    """Made when a request's head was read, filled in as it goes, told when it ends. `outcome` is one of completed,
    abandoned (the client left), cut, refused, reclaimed, failed; `code` that of our own answer, `why` what went wrong.
    `path` is as sent upstream, or else as asked for; never with the query. What could not be read as a request has
    neither method nor path. `ticket_id` is what its steps are told with, None before it may queue; `absorbed` how often
    it was put back into the queue. `refused` is the kind of the last limit that the provider told it of, inside a 200
    too; `at_ms` its end, epoch milliseconds."""

    # Most stay as they are: what the class says costs a record nothing.
    path: str | None = None
    upstream: str | None = None
    provider_id: str | None = None
    workspace: str | None = None
    conversation: str | None = None
    status: int | None = None
    outcome: str = "refused"
    code: str | None = None
    why: str | None = None
    waited_ms: int = 0
    held_ms: int = 0
    first_byte_ms: int | None = None
    bytes: int = 0
    counted: bool = False
    ticket_id: int | None = None
    absorbed: int = 0
    refused: str | None = None
    at_ms: int = 0

    def __init__(self, method: str | None) -> None:
        self.method = method

    def refuse(self, error: OwnAnswer) -> None:
        """It is answered by a no of our own."""
        self.code, self.status, self.why = error.code, error.status, error.message

    @property
    def level(self) -> str:
        return "info"

    @property
    def event(self) -> str:
        return EVENT

    @property
    def fields(self) -> dict[str, object]:
        """By their names in the log."""
        return {
            "id": None if self.ticket_id is None else str(self.ticket_id),
            "provider": self.provider_id,
            "upstream": self.upstream,
            "workspace": self.workspace,
            "conversation": self.conversation,
            "method": self.method,
            "path": None if self.path is None else self.path[:PATH_CHARACTERS],
            "status": self.status,
            "outcome": self.outcome,
            "code": self.code,
            "why": self.why,
            "waited_ms": self.waited_ms,
            "held_ms": self.held_ms,
            "first_byte_ms": self.first_byte_ms,
            "bytes": self.bytes,
            "counted": self.counted,
            "absorbed": self.absorbed,
            "refused": self.refused,
        }

    def json(self) -> str:
        """Its line."""
        ticket = "null" if self.ticket_id is None else f'"{self.ticket_id}"'
        return (
            f'{{"timestamp": "{iso(self.at_ms)}", '
            f'"level": "info", '
            f'"event": "{EVENT}", '
            f'"id": {ticket}, '
            f'"provider": {quoted(self.provider_id)}, '
            f'"upstream": {quoted(self.upstream)}, '
            f'"workspace": {quoted(self.workspace)}, '
            f'"conversation": {quoted(self.conversation)}, '
            f'"method": {quoted(self.method)}, '
            f'"path": {quoted(self.path and self.path[:PATH_CHARACTERS])}, '
            f'"status": {"null" if self.status is None else self.status}, '
            f'"outcome": {quoted(self.outcome)}, '
            f'"code": {quoted(self.code)}, '
            f'"why": {quoted(self.why)}, '
            f'"waited_ms": {self.waited_ms}, '
            f'"held_ms": {self.held_ms}, '
            f'"first_byte_ms": {"null" if self.first_byte_ms is None else self.first_byte_ms}, '
            f'"bytes": {self.bytes}, '
            f'"counted": {"true" if self.counted else "false"}, '
            f'"absorbed": {self.absorbed}, '
            f'"refused": {quoted(self.refused)}}}'
        )
