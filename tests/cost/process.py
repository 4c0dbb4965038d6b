# `python -m tests.cost.process`: the proxy runs here and is counted. What was found is the last line of stdout, JSON.
#
# Rule 1: the proxy has the main thread, for it wants its signals there. Who works with it is another thread, which
#         began before the counting did and is not counted.
# Rule 2: a unit ends SETTLE_S after its last byte: a slot's rest and what the log gathers end earlier.

import json
import os
import signal
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

from proxy.config import Settings, load
from proxy.web.server import serve

from .figures import Figures, figures
from .meter import Counts, Meter
from .rig import Rig
from .work import WORK, Unit

START_S = 30.0
WARM, UNITS = 4, 20  # warm: what is made once is made, and 3.13 tells of what it has traced before
SETTLE_S = 0.04


class Driver(threading.Thread):
    """Waits for the proxy, does all the work, and ends the proxy. `found` is by the work's name."""

    def __init__(self, rig: Rig, meter: Meter) -> None:
        super().__init__(daemon=True)
        self._rig = rig
        self._meter = meter
        self.found: dict[str, Figures] = {}

    def run(self) -> None:
        try:
            self._wait_until_ready()
            for name, prepare in WORK.items():
                self.found[name] = figures(self._counted(prepare(self._rig)))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def _counted(self, unit: Unit) -> list[Counts]:
        found = []
        for _ in range(WARM + UNITS):
            with self._meter.unit() as counts:
                _settled(unit)
            found.append(counts)
        return found[WARM:]

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_S
        while True:
            try:
                self._rig.client().close()
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return


def _settled(unit: Unit) -> None:
    unit()
    time.sleep(SETTLE_S)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="cost-") as directory:
        rig, meter = Rig(Path(directory)), Meter()
        driver = Driver(rig, meter)
        driver.start()
        meter.install()

        def read() -> Settings:
            return load(rig.config, env={})

        serve(read, read(), lambda: rig.config)
        driver.join()
    print(json.dumps({name: asdict(found) for name, found in driver.found.items()}))
    return 0 if len(driver.found) == len(WORK) else 1


if __name__ == "__main__":
    sys.exit(main())
