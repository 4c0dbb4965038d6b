# Giving freed memory back to the system.
#
# glibc keeps what was freed in the middle of its heap. A crowd of large prompts that has passed would leave gigabytes
# behind, held by whatever small object lies above them. Blocks of their own for each piece of a body (a lower
# M_MMAP_THRESHOLD) would help too, but cost more than twice the time for every large prompt.

import ctypes
from ctypes import c_int, c_size_t

SLACK = 64 * 1024 * 1024  # bytes that may stay: giving back and asking again costs time


class _Mallinfo2(ctypes.Structure):
    """malloc.h; fordblks is what is free in the heap, given back or not."""

    _fields_ = [
        (name, c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keep",
        )
    ]


class Heap:
    """The C library's heap, where it is glibc's (2.33 and newer); elsewhere `look` does nothing."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._known = hasattr(self._libc, "mallinfo2") and hasattr(self._libc, "malloc_trim")
        if self._known:
            self._libc.mallinfo2.restype = _Mallinfo2
            self._libc.malloc_trim.argtypes = [c_size_t]
            self._libc.malloc_trim.restype = c_int
        self._least_free = self._free()

    def __repr__(self) -> str:
        return f"<Heap {self._free()} bytes free>"

    def look(self) -> bool:
        """Give back what has been freed if that is much; whether it was. To be called now and then."""
        free = self._free()
        self._least_free = min(self._least_free, free)
        if free - self._least_free < SLACK:
            return False
        self._libc.malloc_trim(0)
        self._least_free = self._free()
        return True

    def _free(self) -> int:
        return int(self._libc.mallinfo2().fordblks) if self._known else 0
