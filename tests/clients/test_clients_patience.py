# A long wait in the queue: whoever has the patience, or is kept by the proxy's 102, never notices.
#
# They all wait at once, behind somebody who holds the only slot, and all go on at once; each has a test of its own for
# how it ended. The most patient come first, since starting them all takes longer than some of them wait.

import asyncio

import pytest

from clients.model.asked import dialect_of
from clients.program import Program
from clients.programs import PROGRAMS
from clients.running import Running
from clients.stage import Installed, Stage, a_stage

WAIT_S = 90.0
FINISH_S = 600.0  # all of them on one machine
ENDLESS = 1e9
UPSTREAM = {"slot_timeout": None}
TOP = {"queue": {"max_wait": "1h"}}


def patience_s(program: Program) -> float:
    return ENDLESS if program.keepalive or program.header_limit_s is None else program.header_limit_s


PATIENT = [program for program in PROGRAMS if patience_s(program) > WAIT_S]
pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1800)]

Ends = dict[str, str]  # program -> what is wrong with its end; empty if nothing is


@pytest.fixture(scope="module")
def ends(request: pytest.FixtureRequest, installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Ends:
    """Of the programs whose tests are to be run."""
    items = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    return asyncio.run(_all_wait([item.callspec.params["program"] for item in items], installed, tmp_path_factory))


@pytest.mark.parametrize("program", PATIENT, ids=lambda program: program.name)
def test_a_long_wait_is_not_noticed(program: Program, ends: Ends) -> None:
    if ends[program.name].startswith("skip: "):
        pytest.skip(ends[program.name].removeprefix("skip: "))
    assert not ends[program.name]


async def _all_wait(programs: list[Program], installed: Installed, folders: pytest.TempPathFactory) -> Ends:
    ends, waiting = {}, []
    async with a_stage(folders.mktemp("patience"), installed, UPSTREAM, TOP) as stage:
        stage.model.begin.clear()
        await stage.holds_the_slot()
        for program in sorted(programs, key=patience_s, reverse=True):
            try:
                running = await stage.start(program)
                await stage.has_asked(running)
                waiting.append(running)
            except pytest.skip.Exception as skipped:
                ends[program.name] = f"skip: {skipped}"
            except AssertionError as error:
                ends[program.name] = f"{error}\n{running!r}"
        await asyncio.sleep(WAIT_S)
        await stage.rig.limit(1000)
        stage.model.begin.set()
        found = await asyncio.gather(*(_end(stage, running) for running in waiting))
    return ends | dict(zip((running.program.name for running in waiting), found, strict=True))


async def _end(stage: Stage, running: Running) -> str:
    try:
        await running.succeeds(limit_s=FINISH_S)
    except AssertionError as error:
        return str(error)
    asked = [request for request in stage.asked(running.key) if dialect_of(request.head.method, request.head.target)]
    answered = stage.model.of(running.key)
    return "" if len(asked) == len(answered) else f"asked {len(asked)} times, answered {len(answered)} times: {asked}"
