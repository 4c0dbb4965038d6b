"""What a request and a chunk cost in opcodes, calls and writes: `python -m tests.cost` from the top of the checkout."""

import argparse
import sys

from . import ceilings
from .figures import Figures, cheaper, grown, told
from .measure import measured


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cost", description=__doc__)
    parser.add_argument("--functions", action="store_true", help="say which functions the opcodes are in")
    parser.add_argument("--write", action="store_true", help="what is counted now is the measure from now on")
    options = parser.parse_args()
    kept, found = ceilings.read(), measured()
    for name, now in found.items():
        print(f"{name}: {told(now)}")
        if name in kept:
            print(_beside(now, kept[name]))
        if options.functions:
            print(*(f"{count:8,.0f}  {function}" for function, count in now.functions.items()), sep="\n")
    if options.write:
        ceilings.write(found)
        print(f"written: {ceilings.FILE}")
    return 0


def _beside(now: Figures, kept: Figures) -> str:
    said = grown(now, kept) or cheaper(now, kept) or f"kept: {told(kept)}"
    return "  " + said.replace("\n", "\n  ")


if __name__ == "__main__":
    sys.exit(main())
