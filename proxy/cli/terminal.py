# What a command is connected to.

import os
import sys


def whole_terminal() -> bool:
    """Whether stdout is a terminal on which lines can be drawn in place."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
