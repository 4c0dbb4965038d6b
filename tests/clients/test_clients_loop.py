# A tool loop of two steps, with and without the proxy in between.

import pytest

from clients.program import Program
from clients.programs import each_program
from clients.stage import Stages

pytestmark = pytest.mark.clients


@each_program
async def test_a_tool_loop_goes_through_unchanged(program: Program, stages: Stages) -> None:
    stage = await stages()
    direct = await stage.start(program, direct=True)
    await direct.succeeds()
    without = stage.model.shapes(direct.key)
    stage.model.upstream.clear()

    through = await stage.start(program)
    await through.succeeds()
    assert stage.model.shapes(through.key) == without
    assert not stage.differences()
