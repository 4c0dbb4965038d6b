# What a process takes, as Linux sees it, and on which core it runs.

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path


def cores() -> tuple[int, int, int]:
    """For the front under test, the load and the upstream; the same ones again where there are fewer."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[min(1, len(allowed) - 1)], allowed[min(2, len(allowed) - 1)]


@contextlib.contextmanager
def on_core(core: int) -> Iterator[None]:
    """What is started inside stays on `core`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_ns(schedstat: str) -> int:
    """Processor time of one thread, from its /proc/PID/task/TID/schedstat."""
    return int(schedstat.split()[0])


def ticks(stat: str) -> tuple[int, int]:
    """Of a process, in user mode and in the kernel, from its /proc/PID/stat."""
    user, kernel = stat.rpartition(")")[2].split()[11:13]  # its name may hold blanks and brackets
    return int(user), int(kernel)


def machine_ns(stat: str) -> int:
    """What all cores together have worked, and were kept from working by other machines, from /proc/stat."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.split()[1:9])
    return (user + nice + system + irq + softirq + steal) * 10**9 // os.sysconf("SC_CLK_TCK")


class Processor:
    """Of one process, all its threads. In ns: the ticks of /proc/PID/stat are 10 ms."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")

    def used_ns(self) -> int:
        total = 0
        for task in (self._proc / "task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
                total += run_ns((task / "schedstat").read_text())
        return total

    def user_and_kernel(self) -> tuple[int, int]:
        """Ticks since it began. How they are shared out is a sample, taken CONFIG_HZ times (100 … 1000) a second of
        work: over three busy seconds good for 1 to 3 % of the whole."""
        return ticks((self._proc / "stat").read_text())

    def resident(self) -> int:
        """Bytes of memory now."""
        return self._kibibytes("VmRSS") * 1024

    def peak(self) -> int:
        """The most since `forget_peak`."""
        return self._kibibytes("VmHWM") * 1024

    def forget_peak(self) -> None:
        (self._proc / "clear_refs").write_text("5")

    def _kibibytes(self, key: str) -> int:
        found = re.search(rf"^{key}:\s+(\d+)", (self._proc / "status").read_text(), re.MULTILINE)
        assert found is not None, key
        return int(found[1])
