# What the C library does with freed memory.

import contextlib
import ctypes

_M_MMAP_THRESHOLD = -3  # malloc.h
LARGE = 64 * 1024  # bytes; pieces of bodies are as large as that or larger, chunks of a stream never


def give_back_large_blocks() -> None:
    """Return each large block to the system as soon as it is freed (glibc; elsewhere nothing happens). By default glibc
    raises the size from which it does so with each large block that is freed, up to 32 MiB: then a crowd of large
    prompts that has passed leaves its pages behind, held by whatever small object lies above them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE)
