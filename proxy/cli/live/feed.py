# The thread that talks to the proxy: it looks every second, and makes the changes that keys ask for.
#
# Rule 1: one thing after the other: a change is made before the next look, which then shows it.
# Rule 2: it never ends by itself; a proxy that is gone is news, too. A fault of ours in it ends the command.

import queue
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.cli.live.changes import Change
from proxy.cli.live.facts import Facts, look

EVERY_S = 1.0

News = Facts | Failure | str  # how it is, why nobody knows, what a change came to


class _Crash(NamedTuple):
    error: Exception


class Feed:
    """A context manager. `poke` is called, from the thread, whenever there is news, and not after the
    end."""

    def __init__(self, admin: Admin, poke: Callable[[], None]) -> None:
        self._admin, self._poke = admin, poke
        self._asked: queue.SimpleQueue[Change | None] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News | _Crash] = queue.SimpleQueue()
        # Nobody waits for it at the end: it may hang in a call for as long as that may take.
        self._lock, self._over = threading.Lock(), False
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    def __enter__(self) -> "Feed":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
        self._asked.put(None)

    def ask(self, change: Change) -> None:
        self._asked.put(change)

    def news(self) -> Iterator[News]:
        """What came since the last time. What the thread failed with is raised here."""
        while True:
            try:
                news = self._news.get_nowait()
            except queue.Empty:
                return
            if isinstance(news, _Crash):
                raise news.error
            yield news

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:  # noqa: BLE001 - raised in the main thread
            self._news.put(_Crash(error))
            self._tell()

    def _serve(self) -> None:
        while True:
            try:
                change = self._asked.get(timeout=EVERY_S)
            except queue.Empty:
                pass
            else:
                if change is None:
                    return
                self._news.put(self._made(change))
            self._news.put(self._seen())
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            if not self._over:  # what is poked may be closed
                self._poke()

    def _made(self, change: Change) -> str:
        try:
            return change(self._admin)
        except Failure as failure:
            return failure.message

    def _seen(self) -> Facts | Failure:
        try:
            return look(self._admin)
        except Failure as failure:
            return failure
