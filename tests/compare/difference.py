# Where two messages differ, for people; and whether a head that passed the proxy lost only what it may lose.

from model import Head, Seen, name_of, read_head

SHOWN = 60  # bytes on either side of the first difference

LOST = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te"}
LOST |= {b"upgrade", b"alt-svc", b"host", b"expect", b"forwarded", b"transfer-encoding", b"trailer"}
LOST_PREFIXES = (b"x-forwarded-", b"x-slotgate-")
GAINED = {b"host", b"connection", b"te"}


def difference(what: str, expected: Seen, seen: Seen) -> list[str]:
    """Nothing, or a line or more that say what is not as it should be."""
    found = []
    if expected.data != seen.data:
        at = next(
            (at for at, pair in enumerate(zip(expected.data, seen.data, strict=False)) if pair[0] != pair[1]),
            min(len(expected.data), len(seen.data)),
        )
        begin = max(0, at - SHOWN)
        found = [
            f"{what}: byte {at} of {len(expected.data)} expected and {len(seen.data)} seen",
            f"  expected {'…' if begin else ''}{expected.data[begin : at + SHOWN]!r}",
            f"  seen     {'…' if begin else ''}{seen.data[begin : at + SHOWN]!r}",
        ]
    if expected.ended != seen.ended:
        found.append(f"{what}: expected {expected.ended}, then was {seen.ended}")
    return found


def unexplained(direct: bytes, passed: bytes) -> list[str]:
    """Lines of the two heads that no removal accounts for: what is left must be the same, in the same order."""
    before, after = _final_head(direct), _final_head(passed)
    if before is None or after is None:
        return []
    listed = before.members(b"connection")
    kept = [line for line in before.lines if not _may_go(line, listed)]
    found = [line for line in after.lines if not _may_go(line, listed)]
    lost = [
        f"lost or moved: {line[:100]!r}" for line, other in zip(kept, [*found, *kept], strict=False) if line != other
    ]
    return lost[:1] + [f"gained: {line[:100]!r}" for line in after.lines if _came_from_nowhere(line, before)]


def _final_head(message: bytes) -> Head | None:
    read = read_head(message)
    while read is not None and read[0].start[8:10] == b" 1":
        read = read_head(read[1])
    return None if read is None else read[0]


def _may_go(line: bytes, listed: set[bytes]) -> bool:
    name = name_of(line)
    return name in LOST or name in listed or name.startswith(LOST_PREFIXES)


def _came_from_nowhere(line: bytes, before: Head) -> bool:
    return line not in before.lines and name_of(line) not in GAINED
