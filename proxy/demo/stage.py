# The demo from its beginning to its end: provider, proxy, agents.
#
# Rule 1: signals are heard before anything is made, so that whatever is made is taken away again.
# Rule 2: it ends in the order of the way: agents, proxy, provider, folder. What is reported was noted before.

import asyncio
import contextlib
import signal
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp

from proxy.demo.account import Account, Refusal
from proxy.demo.agents import STARRED, Agent, Tally
from proxy.demo.child import NotStarted, Proxy
from proxy.demo.journal import Document, Ended, Journal
from proxy.demo.provider import Provider
from proxy.demo.terms import Terms
from proxy.demo.watching import follow_events, sample_state, star

Show = Callable[[Document], None]
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(terms: Terms, show: Show) -> str:
    """Plays until a signal comes or the time is up, and shows each document as it comes. What went wrong, in a
    sentence, "" if nothing did: the proxy ended by itself, or the provider was sent more requests at once than its
    limit, though nobody had raised the proxy's."""
    return asyncio.run(_play(terms, show))


async def _play(terms: Terms, show: Show) -> str:
    journal = Journal()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, journal.end)
    with tempfile.TemporaryDirectory(prefix="slotgate-demo-") as folder:
        provider = Provider(terms, journal)
        try:
            await provider.start()
            return await _through_proxy(terms, show, journal, provider, Path(folder))
        finally:
            await provider.close()


async def _through_proxy(terms: Terms, show: Show, journal: Journal, provider: Provider, folder: Path) -> str:
    proxy = Proxy(folder, provider.url, terms)
    tally = Tally()
    async with _session() as session:
        try:
            journal.start(_act(terms, journal, proxy, tally, session))
            failure, raised = await _told(journal, show, terms.limit)
            if tally.since is not None:  # it began at all
                now = asyncio.get_running_loop().time()
                show({**_summary(terms, provider.account, tally, now), "limitRaised": raised})
        except NotStarted as error:
            return str(error)
        finally:
            await journal.close()
            await proxy.end()
    if (over := provider.account.refused[Refusal.OVER]) and not raised:
        return failure or f"the provider was sent more than its {terms.limit} requests at once, {over} times"
    return failure


async def _told(journal: Journal, show: Show, limit: int) -> tuple[str, bool]:
    """Shows what is told until the end; the failure, if it was one, and whether somebody set a higher limit."""
    raised = False
    try:
        while True:
            document = await journal.read()
            raised = raised or _raises(document, limit)
            show(document)
    except Ended as end:
        return end.failure, raised


def _raises(document: Document, limit: int) -> bool:
    match document:
        case {"event": "limit_set", "by": "api", "limit": wanted}:
            return wanted is None or wanted > limit
    return False


async def _act(terms: Terms, journal: Journal, proxy: Proxy, tally: Tally, session: aiohttp.ClientSession) -> None:
    """Starts the proxy, then everybody else, and waits for its end."""
    await proxy.start(session)
    await star(session, proxy.admin, STARRED)
    tally.since = asyncio.get_running_loop().time()
    journal.tell(
        "ready",
        page=f"{proxy.admin}/",
        admin=proxy.admin,
        clients=f"{proxy.clients}/demo",
        agents=terms.agents,
        limit=terms.limit,
        seed=terms.seed,
        starred=STARRED,
        proxyPid=proxy.pid,
    )
    if terms.open_page:
        # A thread of its own that nobody waits for: a browser in the terminal does not come back.
        threading.Thread(target=webbrowser.open, args=(f"{proxy.admin}/",), daemon=True).start()
    journal.start(follow_events(session, proxy.admin, journal))
    journal.start(sample_state(session, proxy.admin, journal))
    for number in range(terms.agents):
        journal.start(Agent(number, proxy.clients, terms, tally, journal).live(session))
    if terms.seconds is not None:
        asyncio.get_running_loop().call_later(terms.seconds, journal.end)
    status = await proxy.ended()
    journal.end(f"the proxy ended by itself (status {status}): {proxy.last_words()}")


@contextlib.asynccontextmanager
async def _session() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(limit=0)  # as many agents as there are
    async with aiohttp.ClientSession(connector=connector, headers={"User-Agent": "slotgate-demo"}) as session:
        yield session


def _summary(terms: Terms, account: Account, tally: Tally, now: float) -> Document:
    assert tally.since is not None
    return {
        "event": "summary",
        "lastedMs": round((now - tally.since) * 1000),
        "agents": terms.agents,
        "limit": terms.limit,
        "prompts": tally.prompts,
        "answers": tally.answers,
        "refusedSeen": tally.failed["429"],
        "otherFailures": {what: count for what, count in sorted(tally.failed.items()) if what != "429"},
        "longestWaitMs": round(tally.longest_s(now) * 1000),
        "refusedByChance": account.refused[Refusal.CHANCE],
        "refusedOverLimit": account.refused[Refusal.OVER],
        "mostAtOnce": account.most,
    }
