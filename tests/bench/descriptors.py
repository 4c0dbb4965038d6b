# How many connections a front may have, by what the system allows its processes.

import resource
from contextlib import suppress

DESCRIPTORS = 60_000  # 10,000 waiters and as many streams have room with it
KEPT = 200  # descriptors of a front that are no connections


def raise_descriptor_limit() -> int:
    """As many as may be, up to DESCRIPTORS, for this process and its children; how many that is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, DESCRIPTORS), hard):  # root may go over the hard limit
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return limit
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def connections() -> int:
    """The most clients of a front: each may have a connection to the upstream, too."""
    return (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - KEPT) // 2
