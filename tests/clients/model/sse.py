# Server-sent events as models write them.

import json
from collections.abc import Mapping


def event(data: Mapping[str, object], name: str | None = None) -> bytes:
    text = json.dumps(data, separators=(",", ":"))
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def halves(text: str) -> tuple[str, str]:
    """A JSON text in two pieces, as arguments of tools are streamed."""
    middle = len(text) // 2
    return text[:middle], text[middle:]
