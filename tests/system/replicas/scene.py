# What is going on when a fault comes: two answers run, four requests wait, in another order than that of their arrival.
#
# Rule 1: one of the two answers runs until all that waited were served: so one slot serves them, in one order.
# Rule 2: every step has its end: who waits is seen in the queue, what was said is read.

from dataclasses import dataclass, field

from blackbox.call import Call
from blackbox.client import CLEAN, RawClient
from blackbox.waiting import PATIENCE, never

from replicas.fleet import LEASE, Fleet

LIMIT = 2
UPSTREAM = {"limit": LIMIT, "cooldown": "0s"}
BEGAN = 1_700_000_000_000  # epoch ms; prompts of these tests began here and some seconds later
WAITING = {"second": BEGAN + 2000, "fourth": BEGAN + 4000, "first": BEGAN + 1000, "third": BEGAN + 3000}
IN_ORDER = ["first", "second", "third", "fourth"]


@dataclass(slots=True)
class Running:
    """An answer that its client reads as it comes."""

    client: RawClient
    call: Call
    said: int = 0

    async def goes_on(self) -> None:
        """One more event, which the client gets."""
        self.said += 1
        event = f"data: {self.said}\n\n".encode()
        self.call.say(event)
        await self.client.until(event + b"\r\n")

    async def ends(self) -> None:
        """The last byte, which the client gets."""
        await self.call.finish()
        assert (await self.client.until(b"0\r\n\r\n")).endswith(b"0\r\n\r\n")


@dataclass(slots=True)
class Scene:
    fleet: Fleet
    running: list[Running]
    waiting: dict[str, RawClient] = field(default_factory=dict)

    async def goes_on(self) -> None:
        for running in self.running:
            await running.goes_on()

    async def one_ends(self) -> None:
        await self.running.pop().ends()

    async def comes(self, name: str, *, at: int) -> None:
        """One more request, of the youngest prompt; nobody is asked whether it is in the queue."""
        started_at = BEGAN + 10_000 + 1000 * len(self.waiting)
        self.waiting[name] = await self.fleet.ask(name, at, started_at=started_at)

    async def nobody_goes(self, *, during: float = 1.0) -> None:
        seen = len(self.fleet.up.calls)
        await never(lambda: len(self.fleet.up.calls) > seen, during=during, what="a request was let go")

    async def go(self, *names: str, timeout: float = LEASE + PATIENCE) -> None:
        """These go, one at a time, in this order, and are answered."""
        for name in names:
            call = await self.fleet.up.call(timeout=timeout)
            assert call.name == name, f"{call.name} went, not {name}"
            await call.answer()
            answer = await self.waiting.pop(name).answer()
            assert (answer.status, answer.ended) == (200, CLEAN)

    async def ends(self, *names: str) -> None:
        """The waiters go in order, then `names`; what runs ends; never were there too many, and nothing is left."""
        await self.go(*IN_ORDER, *names)
        await self.goes_on()
        while self.running:
            await self.one_ends()
        await self.fleet.at_rest()
        assert self.fleet.up.peak == LIMIT
        await self.fleet.grants_at_once(LIMIT)
        assert self.fleet.up.peak == LIMIT


async def a_scene(fleet: Fleet, *, runs_at: tuple[int, int] = (0, 1), waits_from: int = 0) -> Scene:
    """Two answers run, through these replicas; four requests wait, the first at replica `waits_from`, and so on."""
    running = []
    for number, at in enumerate(runs_at):
        client = await fleet.ask(f"running {number}", at)
        call = await fleet.up.call()
        call.begin()
        running.append(Running(client, call))
    scene = Scene(fleet, running)
    await scene.goes_on()
    scene.waiting = await fleet.line_up(WAITING, first=waits_from)
    return scene
