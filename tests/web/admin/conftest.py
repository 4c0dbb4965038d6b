# One running admin API for each test.

from collections.abc import AsyncIterator

import pytest_asyncio
from admin_rig import Rig, a_rig


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    async with a_rig() as made:
        yield made
