# The life of a client's request, from its head to its one record. Read it from top to bottom.
#
# Rule 1: an error becomes an answer or a cut once; each request ends in exactly one record.
# Rule 2: each request keeps the configuration that it began with.

import asyncio
from collections.abc import Awaitable

from proxy.errors import OwnAnswer
from proxy.service.record import RequestRecord
from proxy.service.runtime import Runtime
from proxy.web.budget import BodyBudget
from proxy.web.identity import OWN_HEADERS
from proxy.web.outcome import carry
from proxy.web.passage import Flow, Passage
from proxy.web.routing import Route
from proxy.web.socket.socket import Socket
from proxy.web.turn import Turn
from proxy.web.view import View
from proxy.wire.dial import proxy_authorization
from proxy.wire.head import RequestHead, connection_options
from proxy.wire.head_writer import request_bytes
from proxy.wire.request import Request

# Compression is declined for sockets that are read: neither side is told of the other's offer (RFC 6455 9.1).
_OWN_OF_SOCKETS = OWN_HEADERS | {b"sec-websocket-extensions"}


class Forwarder:
    """Serves the requests of every client connection."""

    def __init__(self, runtime: Runtime) -> None:
        self.draining = False
        self._runtime = runtime
        self._budget = BodyBudget()
        self._view = View(runtime, None)
        self._sockets: set[Socket] = set()

    def __repr__(self) -> str:
        return f"<Forwarder {self._view!r}{' draining' if self.draining else ''}>"

    def drain(self) -> None:
        """No new request; sockets end when nothing is under way in them."""
        self.draining = True
        for socket in list(self._sockets):
            socket.leave()

    def close(self) -> None:
        """Close the connections that are kept for reuse."""
        self._view.close()

    async def serve(self, request: Request) -> None:
        """Take one request to its end."""
        record = RequestRecord(_method(request.head))
        try:
            await self._serving(request, record)
        except OwnAnswer as error:
            self._refuse(request, error, record)
        except asyncio.CancelledError:
            if request.failure is not None and not request.answered:  # its body broke while it went upstream
                self._refuse(request, request.failure, record)
                return
            record.outcome = "abandoned" if request.gone and not request.was_cut else "cut"
            raise
        except Exception as error:  # the top: one request that fails harms no other
            self._runtime.telemetry.log.error("request.failed", exc_info=error)
            record.outcome, record.code, record.status = "failed", "internal", 500
            if request.answered:
                request.connection.cut()
            else:
                request.refuse(OwnAnswer("internal", "an error inside the proxy; its log says more"))
        finally:
            if record.upstream is None:
                record.path = _asked(request.head.target)
            self._runtime.telemetry.request_ended(record)

    def refused(self, error: OwnAnswer, head: RequestHead | None) -> None:
        """Account for what was refused before it was served; without `head` it was no request."""
        record = RequestRecord(None if head is None else _method(head))
        record.refuse(error)
        if head is not None:
            record.path = _asked(head.target)
        self._runtime.telemetry.request_ended(record)

    def _refuse(self, request: Request, error: OwnAnswer, record: RequestRecord) -> None:
        record.code, record.status = error.code, error.status
        request.refuse(error)

    def _serving(self, request: Request, record: RequestRecord) -> Awaitable[None]:
        """What there is to do, after the decisions that need no waiting."""
        view, head = self._current_view(), request.head
        if head.method == b"CONNECT":  # also with a path: nobody here makes a tunnel of its answer
            raise OwnAnswer("unsupported", "this proxy opens no tunnels to other hosts")
        route = view.router.match(head.target, head.get(b"host"))
        upstream = route.place.upstream
        record.upstream, record.provider_id, record.path = upstream.name, upstream.provider_id, route.path
        if self.draining:
            raise self._runtime.admission(upstream.provider_id).refusal("draining")
        upgrade = b"upgrade" in head.values and _wants_websocket(request)
        if upgrade and upstream.websocket == "refuse":
            raise OwnAnswer("websocket_refused", f"upstream {upstream.name} takes no WebSocket here; use plain HTTP")
        if upgrade and _carries_answers(request, route):
            message = _message(request, route, upgrade=True, own=_OWN_OF_SOCKETS)
            return self._carry(Socket(self._runtime, view, request, route, message, record, self._budget))
        message = _message(request, route, upgrade=upgrade)
        if upgrade or route.place.counting.takes_slot(record.method or "", route.path):
            record.counted = True
            share = self._budget.share(upstream.provider_id, view.settings.queue)
            return Turn(self._runtime, view, request, route, message, record, upgrade=upgrade).run(share)
        passage = Passage(request, message, view.pool(upstream), Flow(), self._runtime.clock, tunnel_idle_s=None)
        sending = passage.send(passage.relay) if request.complete else passage.stream(passage.relay)
        return carry(sending, passage, record)

    async def _carry(self, socket: Socket) -> None:
        self._sockets.add(socket)
        try:
            await socket.run()
        finally:
            self._sockets.discard(socket)

    def _current_view(self) -> View:
        if self._view.settings is not self._runtime.settings:
            self._view = View(self._runtime, self._view)
        return self._view


def _method(head: RequestHead) -> str:
    return head.method.decode("latin-1")


def _asked(target: bytes) -> str | None:
    """The path of a target that is one; another may name what nobody else shall read."""
    return target.partition(b"?")[0].partition(b"#")[0].decode("latin-1") if target.startswith(b"/") else None


def _message(request: Request, route: Route, *, upgrade: bool, own: frozenset[bytes] = OWN_HEADERS) -> bytes:
    """The head for the upstream."""
    host, target, upstream = route.place.host, route.target, route.place.upstream
    extra: list[bytes] = []
    if upstream.proxy is not None and not upstream.url.tls:  # spoken to the forward proxy itself: RFC 9112 3.2.2
        target = b"http://" + host + target
        authorization = proxy_authorization(upstream.proxy)
        if authorization is not None:
            extra.append(b"Proxy-Authorization: " + authorization)
    return request_bytes(request.head, target, host, own=own, upgrade=upgrade, extra=extra)


def _wants_websocket(request: Request) -> bool:
    head = request.head
    return (
        head.values[b"upgrade"].lower() == b"websocket"
        and head.method == b"GET"
        and head.minor == 1
        and b"upgrade" in connection_options(head)
    )


def _carries_answers(request: Request, route: Route) -> bool:
    """Whether this socket carries many answers, each with a slot of its own (spec §10): the Responses protocol, which
    Codex names in a header, and Copilot in the path alone."""
    mode = route.place.upstream.websocket
    if mode != "auto":
        return mode == "per_response"
    betas = b",".join(request.head.all(b"openai-beta")).lower().split(b",")
    named = any(beta.strip().startswith(b"responses_websockets") for beta in betas)
    return named or route.path.endswith("/responses")
