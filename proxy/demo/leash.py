# The first lines of the demo's proxy process: it is the command `slotgate`, and ends with whoever started it.
#
# Rule 1: stdin is a pipe on which nothing comes. Its end says that the demo is gone, however it went: kill -9, too.

import os
import runpy
import signal
import threading


def main() -> None:
    """`python -m proxy`, on a leash."""
    threading.Thread(target=_follow, name="leash", daemon=True).start()
    runpy.run_module("proxy", run_name="__main__", alter_sys=True)


def _follow() -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
