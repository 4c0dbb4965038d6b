# How a passage ended, for the client and for the record.

import asyncio
from collections.abc import Awaitable

from proxy.errors import ConnectFailed, ConnectTimedOut, OwnAnswer, WireError
from proxy.service.record import RequestRecord
from proxy.web.judge import Judge
from proxy.web.passage import Aborted, Passage


async def carry(sending: Awaitable[None], passage: Passage, record: RequestRecord, judge: Judge | None = None) -> None:
    """Await `sending`, which is `passage`'s. What goes wrong becomes a cut if the answer has begun, an OwnAnswer if it
    has not; a client's leaving stays a cancellation. What the `judge` has absorbed went well."""
    try:
        await sending
        record.outcome = "completed"
    except WireError as error:
        error.__traceback__ = None  # its frames hold what holds it: the collector would have to find that
        if judge is not None:
            judge.judge()  # what came of a refusal says what it says
        if judge is not None and judge.absorbed:
            record.outcome = "completed"
        else:
            _show(passage.aborted or error, passage, record)
    except asyncio.CancelledError:
        if passage.aborted is None:
            raise
        _show(passage.aborted, passage, record)
    finally:
        note(passage, record)


def is_answered(record: RequestRecord) -> bool:
    """Whether a client has what it asked for, or a refusal for good: SDKs try 408, 409, 429 and 500 and above again."""
    if record.outcome != "completed" or record.refused is not None or record.status is None:
        return False
    return record.status < 500 and record.status not in _PASSING


def note(passage: Passage, record: RequestRecord) -> None:
    """Write down what has passed so far."""
    relay = passage.relay
    record.status = relay.status
    record.bytes = passage.meter.bytes
    if relay.began_at is not None and passage.sent_at is not None:
        record.first_byte_ms = round((relay.began_at - passage.sent_at) * 1000)


def _show(error: WireError, passage: Passage, record: RequestRecord) -> None:
    aborted = isinstance(error, Aborted)
    record.why = str(error)
    record.outcome = "reclaimed" if aborted else "failed"
    if passage.relay.status is None:
        raise _answer(error, record)
    if not aborted:
        record.outcome = "cut"
    exchange = passage.exchange
    passage.relay.cut(at_once=aborted, looks_whole=exchange is not None and exchange.cut_looks_whole)


def _answer(error: WireError, record: RequestRecord) -> OwnAnswer:
    upstream = f"upstream {record.upstream} ({record.provider_id})"
    if isinstance(error, Aborted):
        return OwnAnswer("reclaimed", f"{upstream}: the slot was reclaimed, {_REASONS[error.why]}")
    if isinstance(error, ConnectTimedOut):
        return OwnAnswer("upstream_timeout", f"{upstream}: {error}")
    if isinstance(error, ConnectFailed):
        return OwnAnswer("upstream_unreachable", f"{upstream}: {error}")
    return OwnAnswer("upstream_bad_response", f"{upstream}: {error}")


_PASSING = (408, 409, 425, 429)
_REASONS = {
    "silent": "since no byte has moved for slot_timeout",
    "max_hold": "since it was held for max_hold",
    "operator": "by an operator",
    "lease": "since its replica was not heard of for too long",
}
