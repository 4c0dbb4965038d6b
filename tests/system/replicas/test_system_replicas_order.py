# The limit and the order hold over all replicas together, without any fault; also how these tests see both.

import pytest

from replicas.conftest import FleetStarter, RedisStarter
from replicas.scene import a_scene


async def test_the_scene_plays_at_one_process_with_its_own_file(start_fleet: FleetStarter) -> None:
    """What a fault does to several is told by what one does without any."""
    scene = await a_scene(await start_fleet(None))
    await scene.comes("last", at=0)
    await scene.nobody_goes()
    await scene.one_ends()
    await scene.ends("last")


@pytest.mark.parametrize("replicas", [1, 3])
async def test_limit_and_order_hold_over_all_replicas(
    a_redis: RedisStarter, start_fleet: FleetStarter, replicas: int
) -> None:
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * replicas))
    await scene.comes("last", at=1)
    await scene.nobody_goes()
    await scene.one_ends()
    await scene.ends("last")
