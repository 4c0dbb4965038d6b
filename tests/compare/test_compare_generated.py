# Exchanges that nobody has thought of: drawn at random, played one or several on a connection.
# SLOTGATE_EXAMPLES sets how many are drawn, and asks for the smallest one that shows a difference; the default is what
# a test run can spare.

import os

from grammar import exchange
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from stage import Exchange, Stage

EXAMPLES = int(os.environ.get("SLOTGATE_EXAMPLES", "40"))
drawn = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.generate] if "SLOTGATE_EXAMPLES" not in os.environ else [Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),  # the stage is the same for all of them, and means to be
)


@drawn
@given(played=exchange())
async def test_any_exchange(stage: Stage, played: Exchange):
    assert await stage.differences(played) == []


@drawn
@given(played=st.lists(exchange(), min_size=2, max_size=4))
async def test_any_exchanges_behind_each_other(stage: Stage, played: list[Exchange]):
    assert await stage.differences(*played) == []
