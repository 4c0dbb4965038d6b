# What becomes of a message that asks for an answer: who asks is read, its turn begins, it gets a ticket and a record.

from proxy.core.model import Ticket
from proxy.errors import OwnAnswer
from proxy.service.record import RequestRecord
from proxy.service.runtime import Runtime
from proxy.web.identity import DEFAULT_WORKSPACE
from proxy.web.outcome import is_answered
from proxy.web.routing import Route
from proxy.web.socket.answer import Answer, Carrier
from proxy.web.socket.asking import Asking
from proxy.web.socket.protocol import Create
from proxy.web.socket.upward import Message
from proxy.web.view import View
from proxy.wire.request import Request


class Entrance:
    """Of one socket; `whole` is the socket's own record."""

    def __init__(self, runtime: Runtime, view: View, request: Request, route: Route, whole: RequestRecord) -> None:
        self._runtime = runtime
        self._request = request
        self._path = route.path
        self._whole = whole
        self._admission = runtime.admission(route.place.upstream.provider_id)
        self._asking = Asking(view.reader, request.head.values, route.workspace)
        self._asks_peer = view.settings.identity.workspace_from_peer

    def __repr__(self) -> str:
        return f"<Entrance {self._asking!r}>"

    async def know_peer(self) -> None:
        """Look for the process at the other end, where that is wanted."""
        if self._asks_peer:
            await self._runtime.peers.workspace(self._request.connection)

    def handshake(self) -> Ticket:
        """What the handshake is called, which takes no slot and waits for none."""
        runtime, now_ms = self._runtime, self._runtime.clock.prompt_ms()
        return Ticket(
            id=runtime.next_ticket_id(),
            workspace=self._whole.workspace or DEFAULT_WORKSPACE,
            conversation=None,
            prompt_started_at=now_ms,
            path=self._path,
        )

    def answer(self, carrier: Carrier, message: Message, create: Create) -> Answer:
        """For a message that takes a slot; what it says is not needed behind this."""
        runtime, now_ms = self._runtime, self._runtime.clock.prompt_ms()
        identity = self._asking.read(create, message.text or b"", now_ms, fingerprint=self._admission.orders)
        message.text = None
        for fact in identity.bad:
            runtime.telemetry.unreadable(fact)
        workspace = identity.workspace
        if workspace == DEFAULT_WORKSPACE and self._asks_peer:
            workspace = runtime.peers.known(self._request.connection) or workspace
        opened = runtime.turns.begin(
            self._admission.provider_id,
            identity.conversation,
            identity.turn,
            stated_ms=identity.prompt_started_at,
            now=runtime.clock.now(),
            now_ms=now_ms,
        )
        ticket = Ticket(
            id=runtime.next_ticket_id(),
            workspace=workspace,
            conversation=identity.conversation,
            prompt_started_at=opened.started_at,
            path=self._path,
        )
        self._admission.turn_begun(ticket, identity.turn, identity.prompt_started_at, now_ms)
        record = self._record()
        record.ticket_id, record.workspace, record.conversation = ticket.id, workspace, identity.conversation
        return Answer(
            carrier,
            message,
            create.stream,
            ticket,
            opened,
            record,
            admission=self._admission,
            clock=runtime.clock,
            ended=self._ended,
        )

    def begun(self, answer: Answer, response: str) -> None:
        """The upstream has named an answer."""
        self._asking.answered(response, answer.ticket.conversation)

    def refused(self, error: OwnAnswer) -> None:
        """A message was refused before anybody knew what it is."""
        record = self._record()
        record.refuse(error)
        self._runtime.telemetry.request_ended(record)

    def _record(self) -> RequestRecord:
        record, whole = RequestRecord(self._whole.method), self._whole
        record.path, record.upstream, record.provider_id = whole.path, whole.upstream, whole.provider_id
        record.counted = True
        return record

    def _ended(self, answer: Answer) -> None:
        answered = is_answered(answer.record)
        self._runtime.turns.end(answer.opened, self._runtime.clock.now(), answered=answered)
        self._admission.turn_ended(answer.ticket, answered=answered)
        self._runtime.telemetry.request_ended(answer.record)
