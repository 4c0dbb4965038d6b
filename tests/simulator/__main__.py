"""`python -m tests.simulator serve|run`, from the top of the checkout; --help says more."""

import json
import sys

from .options import parser, setup, terms
from .report import figures, table
from .simulation import WAYS, Simulation


def main() -> int:
    options = parser().parse_args()
    if options.command == "serve":
        from .server import serve_until_interrupted

        serve_until_interrupted(terms(options, options.limit), port=options.port, seed=options.seed)
        return 0
    ways = WAYS if options.way == "all" else (options.way,)
    runs = [figures(Simulation(setup(options, way)).run()) for way in ways]
    if options.json:
        json.dump(runs if options.way == "all" else runs[0], sys.stdout)
        print()
    else:
        print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
