# The chunked coding, measured and taken off (RFC 9112 7.1). Valid bodies only, whole or cut anywhere.


def chunked_size(raw: bytes) -> int | None:
    """How many bytes a chunked body takes, its trailers and its end included; None if it is not whole."""
    at = 0
    while (end := raw.find(b"\r\n", at)) >= 0:
        size = int(raw[at:end].partition(b";")[0], 16)
        if size == 0:
            if raw[end + 2 : end + 4] == b"\r\n":
                return end + 4
            last = raw.find(b"\r\n\r\n", end)
            return None if last < 0 else last + 4
        at = end + 2 + size + 2
    return None


def has_last_chunk(raw: bytes) -> bool:
    """Whether the line of the last chunk is there, of a body that is cut anywhere."""
    at = 0
    while (end := raw.find(b"\r\n", at)) >= 0:
        size = int(raw[at:end].partition(b";")[0], 16)
        if size == 0:
            return True
        at = end + 2 + size + 2
    return False


def payload(raw: bytes) -> bytes:
    """What the chunks hold, also of a body that is cut anywhere."""
    data, at = b"", 0
    while (end := raw.find(b"\r\n", at)) >= 0 and (size := int(raw[at:end].partition(b";")[0], 16)):
        data += raw[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return data
