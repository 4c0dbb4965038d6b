"""`make bench`, or `python -m tests.bench` from the top of the checkout; --help says more."""

import json
import sys
import time

from .bench import a_bench
from .descriptors import raise_descriptor_limit
from .figures import Row
from .fronts import FRONTS, present, use_compiled
from .machine import facts
from .options import ROWS, parser, plan
from .plot import draw, title
from .processor import cores
from .report import document, lost, markdown, pace, strangers, table
from .rivals import RIVALS

CROWDED = """
The load and the upstream share a core. What the kernel does for both of them for a POST is nearly as much as HAProxy
does, in whatever language they are, so fronts as cheap as that may be held up: a third core ends it."""
STRANGERS = 0.1  # of a core, from where on figures suffer


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def main() -> int:
    options = parser().parse_args()
    if options.rows:
        print("\n".join(f"{name:10} {about}" for name, (_, about) in ROWS.items()))
        return 0
    raise_descriptor_limit()
    if options.compiled is not None:
        use_compiled(options.compiled.absolute())
    for front in set(FRONTS) - set(present()):
        say(f"{front.name} is not installed: its column stays empty")
    if "rivals" in options.only:
        for front in set(RIVALS) - set(present(RIVALS)):
            say(f"{front.name} is not installed: `make bench-rivals` does that")
    about, rows = facts(), list[Row]()
    with a_bench(plan(options), say) as bench:
        for name in options.only:
            began = time.monotonic()
            rows += ROWS[name][0](bench)
            say(f"{name}: {ROWS[name][1]} ({time.monotonic() - began:.0f} s)")
    print("\n".join(f"{name}: {fact}" for name, fact in about.items()), table(rows), sep="\n\n")
    if seen := pace(rows):
        print("\nWho was busy, as a share of a core:", *seen, sep="\n  ")
        if len(set(cores())) < 3:
            print(CROWDED)
    if strangers(rows) > STRANGERS:
        print(f"\nSomebody else had up to {strangers(rows):.0%} of a core: these figures are none to keep.")
    print(f"\nLost units: {lost(rows)}")
    if options.json is not None:
        options.json.write_text(json.dumps(document(about, rows), indent=1, ensure_ascii=False) + "\n")
    if options.markdown is not None:
        options.markdown.write_text(markdown(about, rows))
    if options.plot is not None:
        draw(rows, title(about), options.plot)
    return 1 if lost(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
