# The provider refuses, the proxy asks again in its place (`absorb`): the program never hears of it.

import pytest

from clients.model.asked import dialect_of
from clients.program import Program
from clients.programs import each_program
from clients.stage import Stages

pytestmark = pytest.mark.clients

REFUSALS = 2


@each_program
async def test_absorbed_refusals_are_never_seen(program: Program, stages: Stages) -> None:
    stage = await stages(absorb=REFUSALS, auto_reduce=False)
    running = await stage.start(program, refusals=REFUSALS)
    await running.succeeds()
    assert stage.model.scripts[running.key].refusals == 0
    answers = [answer.head.status for _, answer in stage.passed() if answer is not None]
    assert 429 not in answers
    asked = [request for request, _ in stage.passed() if dialect_of(request.head.method, request.head.target)]
    assert len(stage.model.generating) == len(asked) + REFUSALS
