# What a process takes of the machine, as the kernel sees it: memory, descriptors, threads.
#
# Rule 1: read from outside, from /proc, so that nothing has to be added to what is measured.
# Rule 2: memory is in bytes. A peak counts from the last `forget_peak`.

import contextlib
import os
import re
from collections import Counter
from pathlib import Path

_NUMBER = re.compile(r":?\[?\d+\]?$")  # of `socket:[123]`, which differs from one to the next


class Footprint:
    """Of one process; it must be our own or our child."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")

    @property
    def memory(self) -> int:
        """Resident now."""
        return self._kilobytes("VmRSS") * 1024

    @property
    def peak_memory(self) -> int:
        """The most that was resident since `forget_peak`."""
        return self._kilobytes("VmHWM") * 1024

    def forget_peak(self) -> None:
        (self._proc / "clear_refs").write_text("5")

    @property
    def threads(self) -> int:
        return self._kilobytes("Threads")

    @property
    def processor_s(self) -> float:
        """Seconds of processor time, user and system."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self) -> Counter[str]:
        """How many of each kind are open: socket, pipe, anon_inode:[eventpoll], the path of a file."""
        kinds: Counter[str] = Counter()
        for entry in (self._proc / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                kinds[_NUMBER.sub("", os.readlink(entry))] += 1
        return kinds

    def _kilobytes(self, key: str) -> int:
        status = (self._proc / "status").read_text()
        found = re.search(rf"^{key}:\s+(\d+)", status, re.MULTILINE)
        assert found is not None, f"no {key} in {self._proc}/status"
        return int(found[1])
