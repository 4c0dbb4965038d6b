# Everything at once, by a seeded chance: replicas that are killed, a Redis that restarts, forgets and freezes,
# connections that are killed, clients that leave. As a program: `python tests/system/replicas/storm.py --minutes 3`.
#
# Rule 1: what is right is for journal.py to say; here it only happens.
# Rule 2: at the end nothing happens any more, all who wait are served, and all must be as if nothing had been.

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":  # what pytest's `pythonpath` does for tests
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from blackbox.call import Call, now
from blackbox.client import CLEAN, Answer, RawClient
from blackbox.waiting import PATIENCE

from replicas.fleet import LEASE, Fleet, a_fleet
from replicas.journal import Ask, Journal
from replicas.redis_server import FORGETS, KEEPS, RedisServer

LIMIT = 4
CLIENTS = 16
PROMPTS_S = 3600  # an agent's prompt began up to so long ago
BEGAN = 1_700_000_000_000


class Storm:
    """`redis` None: there is none, and nothing happens to it."""

    def __init__(self, fleet: Fleet, redis: RedisServer | None, seed: int) -> None:
        self.fleet, self.redis = fleet, redis
        self.chance = random.Random(seed)
        self.journal = Journal(LIMIT)
        self._blowing = True
        self._names = 0
        self._there = list(range(len(fleet)))  # replicas that can be asked
        self._died_at = [0.0] * len(fleet)

    async def blow(self, seconds: float, *, every: float) -> Journal:
        """Troubles come every `every` seconds on average; then all is calm until nobody waits or holds any more."""
        self.fleet.up.behaviour = self._serve
        looking = asyncio.create_task(self._look())
        clients = [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
        try:
            await self._troubles(now() + seconds, every)
            self._blowing = False
            async with asyncio.timeout(2 * LEASE + PATIENCE):
                await asyncio.gather(*clients)
            await self.fleet.at_rest(timeout=LEASE + PATIENCE)
            await self.fleet.grants_at_once(LIMIT)
        except (AssertionError, TimeoutError) as error:
            self.journal.strange.append(f"no rest after the storm, {self.journal.waiting} wait: {error}")
        finally:
            for task in (looking, *clients):
                task.cancel()
            await asyncio.gather(looking, *clients, return_exceptions=True)
        return self.journal

    async def _look(self) -> None:
        while True:
            self.journal.look(self.fleet.up.open)
            await asyncio.sleep(0.05)

    # --- the upstream ----------------------------------------------------------------------------------------------

    async def _serve(self, call: Call) -> None:
        """A stream of some events, which says whose it is."""
        assert call.name is not None
        self.journal.went(call.name)
        self.journal.open_now(call.open_then)
        call.begin()
        for _ in range(self.chance.randrange(4)):
            call.event(call.name)
            await asyncio.sleep(self.chance.uniform(0, 0.15))
        call.event(f"[DONE] {call.name}")
        await call.finish()

    # --- clients ---------------------------------------------------------------------------------------------------

    async def _client(self) -> None:
        while self._blowing:
            await asyncio.sleep(self.chance.expovariate(1 / 0.1))
            if self._there:
                await self._ask(self.chance.choice(self._there))

    async def _ask(self, number: int) -> None:
        self._names += 1
        ask = Ask(f"r{self._names}", number, BEGAN + self.chance.randrange(PROMPTS_S * 1000), now())
        self.journal.asked(ask)
        try:
            client = await self.fleet.ask(ask.name, number, started_at=ask.prompt)
        except OSError as error:
            self._cut(ask, f"{error}")
            return
        patience = self.chance.expovariate(1 / 2.0) if self.chance.random() < 0.2 else None
        try:
            async with asyncio.timeout(patience):
                answer = await client.answer(timeout=3 * LEASE + PATIENCE)
        except TimeoutError:
            if patience is None:
                self.journal.strange.append(f"{ask} was not answered at all")
            self.journal.over_with(ask, "left")
        except (AssertionError, OSError) as error:  # cut before an answer began
            self._cut(ask, f"{error}")
        else:
            self._judge(ask, answer)
        finally:
            self._leave(client)

    def _leave(self, client: RawClient) -> None:
        client.leave(self.chance.choice(["fin", "rst"]))

    def _judge(self, ask: Ask, answer: Answer) -> None:
        whole = answer.status == 200 and answer.body.endswith(f"data: [DONE] {ask.name}\n\n".encode())
        if whole and answer.ended == CLEAN:
            self.journal.over_with(ask, "answered")
        elif answer.ended != CLEAN:
            self._cut(ask, f"{answer.ended} after {len(answer.body)} bytes")
        else:
            self.journal.strange.append(f"{ask} was answered {answer}")
            self.journal.over_with(ask, f"refused {answer.code}")

    def _cut(self, ask: Ask, how: str) -> None:
        """Nobody is cut but by the death of his replica."""
        self.journal.over_with(ask, "cut")
        if self._died_at[ask.replica] < ask.sent_at:
            self.journal.strange.append(f"{ask} was cut: {how}")

    # --- what happens ----------------------------------------------------------------------------------------------

    async def _troubles(self, end: float, every: float) -> None:
        kinds = [self._kill_a_replica]
        if self.redis is not None:
            kinds += [self._restart_redis, self._freeze_redis, self._kill_connections]
        while True:
            rest = min(self.chance.uniform(0.5, 1.5) * every, end - now())
            if rest <= 0:
                return
            await asyncio.sleep(rest)
            if now() < end:
                await self.chance.choice(kinds)()

    async def _kill_a_replica(self) -> None:
        number = self.chance.randrange(len(self.fleet))
        self.journal.trouble("replicas killed")
        self._died_at[number] = now()
        self._there.remove(number)
        await self.fleet[number].proxy.kill()
        self.journal.passed(died=True)
        await asyncio.sleep(self.chance.uniform(0, 2))
        await self.fleet[number].proxy.come_back()
        self._there.append(number)

    async def _restart_redis(self) -> None:
        assert self.redis is not None
        self.redis.options = self.chance.choice([FORGETS, KEEPS])
        kept = "kept" if self.redis.options is KEEPS else "forgot"
        self.journal.trouble(f"restarts of Redis, which {kept}")
        await self.redis.kill()
        await asyncio.sleep(self.chance.choice([0, 0, 1.5]))
        await self.redis.start()
        self.journal.passed(forgot=True)

    async def _freeze_redis(self) -> None:
        assert self.redis is not None
        self.journal.trouble("freezes of Redis")
        self.redis.freeze()
        await asyncio.sleep(self.chance.uniform(0.2, 3))
        self.redis.thaw()
        self.journal.passed()

    async def _kill_connections(self) -> None:
        assert self.redis is not None
        self.journal.trouble("kills of connections")
        for kind in self.chance.choice([("normal",), ("pubsub",), ("normal", "pubsub")]):
            await self.redis.ask("CLIENT", "KILL", "TYPE", kind)
        self.journal.passed()


async def storm(
    directory: Path, *, seconds: float, replicas: int, seed: int, every: float, logs: Path | None = None
) -> Journal:
    """A storm at `replicas` that share a Redis; without one where `replicas` is 0: one process with its own file."""
    async with contextlib.AsyncExitStack() as stack:
        redis = None
        if replicas:
            redis = RedisServer(directory / "redis", KEEPS)
            stack.push_async_callback(redis.discard)
            await redis.start()
        states = [None] if redis is None else [redis.url] * replicas
        upstream = {"limit": LIMIT, "cooldown": "0s"}
        fleet = await stack.enter_async_context(a_fleet(directory, states, upstream))
        journal = await Storm(fleet, redis, seed).blow(seconds, every=every)
        if logs is not None:
            for rig in fleet.rigs:
                (logs / f"{rig.proxy.directory.name}.log").write_text(rig.proxy.output)
        return journal


def main() -> int:
    parser = argparse.ArgumentParser(description="A storm at several replicas; exit status 1 if anything was wrong.")
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--replicas", type=int, default=3, help="0: one process without Redis")
    parser.add_argument("--every", type=float, default=6, help="seconds between two troubles")
    parser.add_argument("--logs", type=Path, help="a directory for what the replicas have said")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        work = storm(
            Path(directory),
            seconds=options.minutes * 60,
            replicas=options.replicas,
            seed=options.seed,
            every=options.every,
            logs=options.logs,
        )
        journal = asyncio.run(work)
    print(journal)
    return 1 if journal.faults else 0


if __name__ == "__main__":
    sys.exit(main())
