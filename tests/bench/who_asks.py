"""What it costs to read who asks out of a body that alone can say it, by its size: µs of processor time.

    python tests/bench/who_asks.py [--json]

The body is an agent's history in the OpenAI chat format, code and tools in it, without any id: all of it is looked
through and hashed, both ends are read, and a fingerprint is made. Each figure is the best of several, since whatever
else the machine does only adds to it. Beside it: what Python's own JSON reader takes for the body alone.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # this checkout, installed or not

from proxy.config import load
from proxy.web.identity import Reader

SIZES = {"1 KB": 1_000, "50 KB": 50_000, "1 MB": 1_000_000, "8 MB": 8_000_000}
HEADERS = {b"authorization": b"Bearer sk-0123456789abcdef", b"user-agent": b"bench/1.0"}
CODE = 'def total(prices: dict[str, float]) -> str:\n\treturn f"{sum(prices.values()):.2f} €"\n\n'


def history(size: int) -> bytes:
    """About `size` bytes, hardly more."""
    share = min(size // 20, 8_000)  # an agent's first request has tens of kilobytes before the person says a word
    messages: list[dict[str, object]] = [
        {"role": "system", "content": _text(share * 3)},
        {"role": "user", "content": "Please round the prices. " + _text(share // 2)},
    ]
    body = {"model": "m", "stream": True, "tools": [_tool(share)], "messages": messages}
    left = size - len(json.dumps(body))
    while left > 0:
        call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
        step = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": _text(min(share, left))},
        ]
        messages += step
        left -= len(json.dumps(step))
    return json.dumps(body).encode()


def _text(size: int) -> str:
    return (CODE * (size // len(CODE) + 1))[: max(size, 1)]


def _tool(size: int) -> dict[str, object]:
    return {"type": "function", "function": {"name": "read", "description": _text(size)}}


def best(work: Callable[[bytes], object], raw: bytes) -> float:
    """Processor time in µs."""
    repeats, figures = max(1, 100_000 // len(raw)), []
    for _ in range(25):
        copies = [bytes(bytearray(raw)) for _ in range(repeats)]  # a body that was hashed once knows its hash
        began = time.process_time()
        for copy in copies:
            work(copy)
        figures.append((time.process_time() - began) / repeats * 1e6)
    return round(min(figures), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    as_json = parser.parse_args().json
    reader = Reader(load(None, env={"HOME": "/"}, text="{}").identity, b"key of the bench")

    def who(raw: bytes) -> None:
        identity = reader.read(HEADERS, lambda: raw, None, 1, fingerprint=True)
        assert identity.conversation is not None
        assert identity.turn.continues

    bodies = {name: history(size) for name, size in SIZES.items()}
    figures = {name: (best(who, raw), best(json.loads, raw)) for name, raw in bodies.items()}
    if as_json:
        print(json.dumps({"who_asks_us": {name: us for name, (us, _) in figures.items()}}))
        return
    print(f"{'body':>10}  {'bytes':>10}  {'who asks, µs':>12}  {'json.loads, µs':>14}")
    for name, (us, parsing) in figures.items():
        print(f"{name:>10}  {len(bodies[name]):>10,}  {us:>12,.1f}  {parsing:>14,.1f}")


if __name__ == "__main__":
    main()
