"""`make bench`, or `python -m tests.bench` from the top of the checkout; --help says more."""

import json
import sys

from .bench import a_bench
from .descriptors import raise_descriptor_limit
from .figures import Row
from .fronts import FRONTS, present
from .machine import facts, is_quiet
from .options import ROWS, parser, plan
from .plot import draw, title
from .report import bottlenecks, document, lost, pace, table


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def main() -> int:
    options = parser().parse_args()
    if options.rows:
        print("\n".join(f"{name:10} {about}" for name, (_, about) in ROWS.items()))
        return 0
    raise_descriptor_limit()
    for front in set(FRONTS) - set(present()):
        say(f"{front.name} is not installed: its column stays empty")
    if not is_quiet():
        say("somebody else is at work on this machine: these figures are no figures to keep")
    about, rows = facts(), list[Row]()
    with a_bench(plan(options), say) as bench:
        for name in options.only:
            say(f"{name}: {ROWS[name][1]}")
            rows += ROWS[name][0](bench)
    print("\n".join(f"{name}: {fact}" for name, fact in about.items()), table(rows), sep="\n\n")
    print("\nWho was busy, as a share of its core:", *pace(rows), sep="\n  ")
    short = bottlenecks(rows)
    print(
        "\nThe load was the bottleneck of:" if short else "\nThe load was nowhere the bottleneck.", *short, sep="\n  "
    )
    print(f"\nLost units: {lost(rows)}")
    if options.json is not None:
        options.json.write_text(json.dumps(document(about, rows), indent=1, ensure_ascii=False) + "\n")
    if options.plot is not None:
        draw(rows, title(about), options.plot)
    return 1 if lost(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
