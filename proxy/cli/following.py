# What happens at a running proxy, as it happens, over every break of the connection.
#
# Rule 1: nothing is missed that the proxy still has, and nothing comes twice: each new connection goes on after the
#         last id.
# Rule 2: a proxy that was never reached is an error; one that is gone is waited for, and that is told once.

import dataclasses
import time
from collections.abc import Iterator

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.cli.sse import Event, Reader

_SILENCE_S = 45.0  # the proxy breaks it every 15 s
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)  # between two tries; the last one again and again
_GONE = ("not_running", "no_answer", "unreachable")


def follow(admin: Admin, since: str | None) -> Iterator[Event | Failure]:
    """Every event from now on, after what is kept since the id `since`; a Failure where the connection was lost."""
    admin = dataclasses.replace(admin, patience_s=_SILENCE_S)
    reached, failed = False, 0
    while True:
        lost = Failure("ended", "the proxy has ended the events; it is asked again")
        try:
            with admin.stream(
                "concurrency", "events", media="text/event-stream", headers={"Last-Event-ID": since} if since else {}
            ) as parts:
                reached, failed = True, 0
                for event in _events(parts):
                    since = event.id or since
                    yield event
        except Failure as failure:
            if not reached or failure.code not in _GONE:
                raise
            lost = failure
        if not failed:
            yield lost
        time.sleep(_PAUSES_S[min(failed, len(_PAUSES_S) - 1)])
        failed += 1


def _events(parts: Iterator[bytes]) -> Iterator[Event]:
    reader = Reader()
    for part in parts:
        try:
            events = reader.feed(part)
        except ValueError as error:
            raise Failure("not_slotgate", f"what the proxy sends are no events of slotgate: {error}") from None
        yield from events
