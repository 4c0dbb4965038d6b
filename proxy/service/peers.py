# The workspaces of clients on this machine, by the processes that they are.
#
# Rule 1: a connection is asked about once, in a thread; what is found stays with the connection.
# Rule 2: nobody waits for longer than WAIT_S. A later request of the connection may find the answer there.
# Rule 3: who has connected before probably connects again: processes that were found are looked at first.

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from proxy.service.whereabouts import project_of
from proxy.wire.peer import Whose, holder, whose
from proxy.wire.request import Connection

WAIT_S = 0.25  # ten times what a search takes; a request without a workspace does no harm
REMEMBERED = 64  # processes


class Peers:
    """Made once; `close` ends its thread. `project` tells the project of a process."""

    def __init__(self, project: Callable[[int], str | None] = project_of) -> None:
        self._project = project
        self._recent: dict[int, None] = {}  # the latest last
        self._thread: ThreadPoolExecutor | None = None  # since somebody has asked

    def __repr__(self) -> str:
        return f"<Peers {len(self._recent)} known>"

    async def workspace(self, connection: Connection) -> str | None:
        """Of the process at the other end; None if there is nothing to say, or not soon enough."""
        asked = connection.workspace
        if asked is None:
            asked = connection.workspace = self._ask(whose(connection.socket()))
        if not asked.done():
            await asyncio.wait((asked,), timeout=WAIT_S)
        return self.known(connection)

    def known(self, connection: Connection) -> str | None:
        """What `workspace` has found by now."""
        asked = connection.workspace
        return asked.result() if asked is not None and asked.done() and not asked.cancelled() else None

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _ask(self, who: Whose | None) -> "asyncio.Future[str | None]":
        loop = asyncio.get_running_loop()
        if who is None:
            nobody: asyncio.Future[str | None] = loop.create_future()
            nobody.set_result(None)
            return nobody
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="peers")
        return loop.run_in_executor(self._thread, self._find, who)

    def _find(self, who: Whose) -> str | None:
        """In the thread."""
        pid = who.pid
        if pid is None and who.inode is not None:
            pid = holder(who.inode, reversed(list(self._recent)))
        if pid is None:
            return None
        self._recent.pop(pid, None)
        self._recent[pid] = None
        if len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]
        return self._project(pid)
