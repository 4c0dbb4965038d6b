# kill -9 at any moment loses no acknowledged write, and never leaves a damaged file.

import random
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
WRITER = Path(__file__).with_name("acknowledging_writer.py")
ROOT = Path(__file__).parents[2]


def run_and_kill(path: Path, first: int, after_s: float) -> list[int]:
    """What a writer acknowledged before it was killed, `after_s` after its first answer, or after its start if that
    is negative: then it dies while it makes or opens the file."""
    with subprocess.Popen(
        [sys.executable, str(WRITER), str(path), str(first)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        head = child.stdout.readline() if after_s >= 0 else b""
        time.sleep(abs(after_s))
        child.kill()
        return [int(line) for line in (head + child.stdout.read()).split()]


async def test_every_acknowledged_write_is_there_after_kill_9(path, stores):
    moments = random.Random(5)
    acknowledged_last, last, killed_while_writing = 0, 0, 0
    starred: dict[str, bool] = {}
    for number in range(ROUNDS):
        after_s = -moments.uniform(0.08, 0.2) if number % 5 == 0 else moments.uniform(0, 0.15)
        acknowledged = run_and_kill(path, last + 1, after_s)
        killed_while_writing += bool(acknowledged)
        for each in acknowledged:
            acknowledged_last = last = each
            starred[f"w{each % 50}"] = each % 3 > 0
        store = stores(path)
        saved = await store.open()
        await store.close()
        assert store.damaged is None
        last += 1  # it may have been on its way, whole or in half
        starred.pop(f"w{last % 50}", None)
        if killed_while_writing:
            # Behind the last acknowledged one may stand those of rounds that were killed before they could say so.
            assert acknowledged_last <= saved.providers["api.example.com"].limit <= last
        assert {name: name in saved.stars for name in starred} == starred
    assert killed_while_writing >= ROUNDS // 2
