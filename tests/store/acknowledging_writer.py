# A process to be killed: writes ever higher numbers and says each on stdout once the store has it.
#
# Usage: acknowledging_writer.py PATH FIRST

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

from proxy.store import ProviderRecord
from proxy.store.sqlite import SqliteStore


async def main(path: Path, first: int) -> None:
    store = SqliteStore(path)
    await store.open()
    for number in count(first):
        record = ProviderRecord(
            provider_id="api.example.com",
            limit=number,
            limit_by="api",
            file_limit=None,
            cooldown_s=0.35,
            cooldown_by="file",
            file_cooldown_s=None,
            auto_reduced_from=None,
            evidence=(),
            paused_until_ms=None,
            pause_cause=None,
        )
        done = await asyncio.gather(store.save_provider(record), store.save_star(f"w{number % 50}", number % 3 > 0))
        assert all(done), store.error
        os.write(1, b"%d\n" % number)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
