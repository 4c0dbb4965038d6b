# A conversation's name for clients that give it none: what its beginning, which each of its requests repeats, comes to.
#
# Rule 1: texts, and what is attached to the first message; no object as a whole. Between two requests clients move
#         `cache_control` about, order keys anew, and write a text as a string or as a list of parts.
# Rule 2: keyed, with a key that lives as long as the process: it names no credential and no text to anybody, and two
#         processes give the same conversation two names.
# Rule 3: bounded: of each text CHARACTERS count, and its length; of its parts the first ones (identity_json).
#
# That a conversation's beginning stays as it is within a prompt, and its system text across prompts, was measured for
# every agent seen that sends more than one request.

from hashlib import sha256
from typing import Final

from msgspec import Raw

from proxy.web.identity_body import SYSTEM_ROLES, content_of, is_reminder, messages, role_of
from proxy.web.identity_fields import ABSENT, Fields, Item, Items
from proxy.web.identity_json import PARTS, attached, value

PREFIX: Final = "fp:"
DIGITS: Final = 16
FIRST: Final = 16  # messages from the beginning among which the user's first must be; agents put up to four before it
CHARACTERS: Final = 64 * 1024
# aider's examples of a conversation, for models that shall not see them as the system's words, end with this.
_EXAMPLES_END = b"I switched to a new code base."
_NEAR_THE_BEGINNING = 128  # bytes of a message
_LEAST: Final = 3  # messages, where there are examples: one, its answer, and what is really asked
_WHO: Final[tuple[bytes, ...]] = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"user-agent")


def fingerprint(key: bytes, headers: dict[bytes, bytes], body: Fields) -> str | None:
    """`fp:` and 16 hex digits of credential, User-Agent, system text and first user message; None where the body has no
    beginning. One with a `previous_response_id` holds only what is new: there it is the system text alone."""
    fields = (body.instructions, body.system, body.system_instruction, body.system_instruction_camel)
    system = [_text(value(found)) for found in fields if found is not ABSENT]
    first = _first_message(messages(body), system)
    if body.previous_response_id is not ABSENT and value(body.previous_response_id) is not None:
        first = b"" if "".join(system) else None
    if first is None:
        return None
    instructions = _bounded("".join(system))
    beginning = [key, *[headers.get(name, b"\r") for name in _WHO]]  # no header holds the end of a line
    beginning += b"%d" % len(instructions), instructions, first
    # With so little of the digest told, nobody can go on from it to a longer text's. Processors help with this one.
    return PREFIX + sha256(b"\n".join(beginning)).hexdigest()[:DIGITS]


def _first_message(found: Items, system: list[str]) -> bytes | None:
    """Of the user. What the system says before it is added to `system`; what clients add by themselves may change."""
    if isinstance(found, str):
        return _bounded(found)
    begins = found[:FIRST] if isinstance(found, list) else []
    examples = _examples(begins)
    for at, raw in enumerate(begins):
        message = value(raw)
        if not isinstance(message, Item):
            return None
        role, content = role_of(message), content_of(message)
        if role == "user" and at >= examples and not is_reminder(content):
            said = _bounded(_text(content)) + _attached(content)
            return said or _bounded(bytes(raw).decode("latin-1"))  # nothing that we know: as it stands
        if role in SYSTEM_ROLES:
            system.append(_text(content))
    return None


def _examples(messages: list[Raw]) -> int:
    """How many of these are an example."""
    if len(messages) < _LEAST:
        return 0
    ends = [at for at, raw in enumerate(messages) if _EXAMPLES_END in bytes(memoryview(raw)[:_NEAR_THE_BEGINNING])]
    return ends[-1] + 1 if ends else 0


def _text(found: object) -> str:
    """Of a text, of a list of parts, or of an object with one of them."""
    if isinstance(found, str):
        return found
    parts = content_of(found) if isinstance(found, Item) else found
    if not isinstance(parts, list):
        return parts if isinstance(parts, str) else ""
    texts = [part.text for part in map(value, parts[:PARTS]) if isinstance(part, Item)]
    return "".join([text for text in texts if isinstance(text, str)])


def _attached(content: object) -> bytes:
    if not isinstance(content, list):
        return b""
    return b"".join([b" %b" % _bounded(each.decode("latin-1")) for part in content[:PARTS] for each in attached(part)])


def _bounded(text: str) -> bytes:
    """Its beginning, and its length where that is not all of it."""
    if len(text) <= CHARACTERS:
        return text.encode("utf-8", "surrogatepass")
    return b"%d %b" % (len(text), text[:CHARACTERS].encode("utf-8", "surrogatepass"))
