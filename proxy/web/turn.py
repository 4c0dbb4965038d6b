# A counted request: its body read, its place in the queue, its slot, its answer, and perhaps another try.
#
# Rule 1: the body is read whole before the request queues: a slow sender takes no slot, and a client that leaves is
#         noticed, since nothing of it is left unread.
# Rule 2: a slot is given back in `finally`, after its upstream connection is closed.

import asyncio
from collections.abc import Awaitable

from proxy.core.model import Slot, Ticket
from proxy.core.turns import OpenRequest
from proxy.errors import OwnAnswer
from proxy.service.gate import credentials
from proxy.service.record import RequestRecord
from proxy.service.runtime import Runtime
from proxy.web.budget import Share
from proxy.web.identity import DEFAULT_WORKSPACE, Identity
from proxy.web.judge import Judge
from proxy.web.outcome import carry, is_answered, note
from proxy.web.passage import Passage
from proxy.web.patience import Patience, interims
from proxy.web.routing import Route
from proxy.web.view import View
from proxy.wire.body import Chunked, dechunked
from proxy.wire.head import CHUNKED
from proxy.wire.request import Request

READ_CHUNKS = 20_000  # a body in more of them says nothing about who asks: joining a million takes a second


class Turn:
    """One counted request; `run` takes it to its end."""

    def __init__(
        self,
        runtime: Runtime,
        view: View,
        request: Request,
        route: Route,
        message: bytes,
        record: RequestRecord,
        *,
        upgrade: bool,
    ) -> None:
        self._runtime = runtime
        self._view = view
        self._request = request
        self._route = route
        self._message = message
        self._record = record
        self._upgrade = upgrade
        self._admission = runtime.admission(route.place.upstream.provider_id)
        self._arrived_ms = runtime.clock.prompt_ms()
        self._opened: OpenRequest | None = None  # once it is known who asks
        self._ticket: Ticket | None = None
        self._patience: Patience | None = None  # once it waits

    def __repr__(self) -> str:
        return f"<Turn of {self._request} at {self._admission.provider_id}>"

    async def run(self, share: Share) -> None:
        """Read, queue, send. OwnAnswer if the client is to be told no. Closes `share`."""
        request = self._request
        try:
            share.check_length(request.length)
            self._admission.check_room()
            if request.complete:
                share.add(request.buffered, request.body.payload)
            else:
                await request.read_body(lambda size: share.add(size, request.body.payload))
            identity = self._identify()
            if identity.workspace == DEFAULT_WORKSPACE and self._view.settings.identity.workspace_from_peer:
                identity = await self._placed(identity)
            opened = self._opened = self._open(identity)
            ticket = Ticket(
                id=self._runtime.next_ticket_id(),
                workspace=identity.workspace,
                conversation=identity.conversation,
                prompt_started_at=opened.started_at,
                path=self._route.path,
            )
            self._ticket, self._record.ticket_id = ticket, ticket.id
            self._admission.turn_begun(ticket, identity.turn, identity.prompt_started_at, self._arrived_ms)
            slot = self._admission.at_once(ticket)
            if slot is None:
                slot = await self._wait(self._admission.acquire(ticket, credentials(self._request.head.values)))
            share.close()  # what goes upstream waits no more
            await self._go_through(slot)
        finally:
            share.close()
            self._end()

    def _identify(self) -> Identity:
        identity = self._view.reader.read(
            self._request.head.values,
            self._payload,
            self._route.workspace,
            self._arrived_ms,
            fingerprint=self._admission.orders,
        )
        self._record.workspace, self._record.conversation = identity.workspace, identity.conversation
        for fact in identity.bad:
            self._runtime.telemetry.unreadable(fact)
        return identity

    async def _placed(self, identity: Identity) -> Identity:
        """With the workspace of the process that asks, where nothing else says one."""
        workspace = await self._runtime.peers.workspace(self._request.connection)
        if workspace is None:
            return identity
        self._record.workspace = workspace
        return identity._replace(workspace=workspace)

    def _open(self, identity: Identity) -> OpenRequest:
        return self._runtime.turns.begin(
            self._admission.provider_id,
            identity.conversation,
            identity.turn,
            stated_ms=identity.prompt_started_at,
            now=self._runtime.clock.now(),
            now_ms=self._arrived_ms,
        )

    def _payload(self) -> bytes:
        body = self._request.body
        if isinstance(body, Chunked) and body.chunks > READ_CHUNKS:
            return b""
        raw = b"".join(self._request.pieces)
        return dechunked(raw) if self._request.length == CHUNKED else raw

    def _end(self) -> None:
        if self._opened is not None:
            answered = is_answered(self._record)
            self._runtime.turns.end(self._opened, self._runtime.clock.now(), answered=answered)
            if self._ticket is not None:
                self._admission.turn_ended(self._ticket, answered=answered)

    async def _go_through(self, slot: Slot) -> None:
        """One try with `slot`, and others while refusals are absorbed."""
        absorbs, tries = self._admission.policy.absorb, 0
        while True:
            judge, passage = await self._go(slot, absorb=tries < absorbs)
            if not judge.absorbed:
                return
            tries += 1
            self._record.absorbed = tries
            try:
                slot = await self._wait_again(slot, tries, judge.stated_ms)
            except (OwnAnswer, TimeoutError):
                judge.hand_over()  # the last answer is what the client sees
                note(passage, self._record)
                return

    async def _wait_again(self, slot: Slot, tries: int, stated_ms: int | None) -> Slot:
        """Another slot for what was refused, within what earlier waits have left of its patience; else TimeoutError."""
        patience_s = max(self._admission.policy.max_wait_s - self._record.waited_ms / 1000, 0.0)
        async with asyncio.timeout(patience_s):
            return await self._wait(
                self._admission.acquire_again(
                    slot, credentials(self._request.head.values), tries, stated_ms, patience_s
                )
            )

    async def _wait(self, acquiring: Awaitable[Slot]) -> Slot:
        clock = self._runtime.clock
        if self._patience is None:
            allowed = interims(self._request, self._view.settings.queue.keepalive)
            self._patience = Patience(self._request, allowed, asyncio.get_running_loop())
        self._patience.start()
        began_at = clock.now()
        try:
            return await acquiring
        finally:
            self._patience.stop()
            self._record.waited_ms += round((clock.now() - began_at) * 1000)

    async def _go(self, slot: Slot, *, absorb: bool) -> tuple[Judge, Passage]:
        """One try with `slot`, which is given back unless the answer was absorbed: that one queues with it again."""
        clock, upstream, record = self._runtime.clock, self._route.place.upstream, self._record
        keeps = sent = False
        try:
            pool = self._view.pool(upstream)
            passage = Passage(self._request, self._message, pool, slot, clock, tunnel_idle_s=upstream.tunnel_idle_s)
            judge = Judge(passage.relay, self._admission, slot, preset=upstream.preset, absorb=absorb, clock=clock)
            self._admission.hold(slot, passage)
            try:
                await carry(
                    passage.send(judge, upgrade=self._upgrade, started=judge.attach), passage, record, judge=judge
                )
                keeps = judge.absorbed  # not before: a client that leaves in this moment needs no other try
            finally:
                judge.close()
                record.refused = judge.refused or record.refused
                sent = passage.sent_at is not None
            return judge, passage
        finally:
            record.held_ms += round((clock.now() - slot.granted_at) * 1000)
            if not keeps:
                self._admission.release(slot, reached=sent)
