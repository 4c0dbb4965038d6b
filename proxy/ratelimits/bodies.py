# What the bodies of answers say in their error fields: fifty shapes, read as one flat list of names and values.
#
# Rule 1: only protocol-level fields are read. A model may write about rate limits as much as it likes.
# Rule 2: an error status makes the whole body an error; in a 2xx only what the protocols mark as one is.
# Rule 3: every value is the text that stood there; a number is never parsed here, so none can be too long or too big.

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

Fields = dict[str, list[str]]  # lower-case field name -> its values, one or more

# What is read as a provider's code, and what as text for people; `code` and `text` gather them.
_CODES = frozenset({"code", "type", "status", "reason", "limit_source", "rate_limit_type", "__type"}) | frozenset(
    {"error_type", "error_code", "errorcode"}
)
_TEXTS = frozenset({"message", "msg", "detail", "title", "raw", "error", "errors"}) | frozenset(
    {"error_message", "error_description", "status_msg"}
)
_CONTAINERS = frozenset({"error", "errors", "detail", "details", "metadata", "violations", "base_resp", "headers"})
_DEPTH = 8  # error → details → ErrorInfo → metadata is 4
_ERRORS_LIMIT = 4  # errors inside one 2xx; a stream ends with its first
_STEPS_LIMIT = 256  # values that are looked at for one error; the longest real one has some sixty
_VALUES_LIMIT = 16  # values of one field that are kept
_CODE_LIMIT = 64  # characters; what is longer is a text, of which a part says something
_TEXT_LIMIT = 4096  # characters of one value that are worth searching
_BODY_LIMIT = 4 * _TEXT_LIMIT  # characters of all texts and codes of an error, as its body
_INSIDE_LIMIT = 2048  # and of all errors in one 2xx: a stream has many frames

_EVENT_STREAM_EXCEPTION = re.compile(rb":exception-type\x07\x00.([A-Za-z]+)", re.DOTALL)  # Bedrock's binary frames
_EXCEPTION_MESSAGE = re.compile(rb'"message":\s*"([^"]*)')
_EVENTS = re.compile(r"(?:^|[\r\n])(?:data|event):")
# A string, up to where it was cut, or what opens, closes or parts values.
_TOKEN = re.compile(r'"[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*("?)|[{}\[\],]')
_ZAI_PREFIX = re.compile(r"\[([0-9]{4})\]")  # Z.ai in Anthropic's dialect: "[1308][Usage limit reached …][stamp]"


def error_fields(body: bytes) -> Fields:
    """Everything that the body of an answer with an error status says, merged; empty if it says nothing readable. It
    may be cut short."""
    said: Fields = {}
    text = body.decode("utf-8-sig", "replace").strip()
    documents = list(_documents(body)) or _cut_short(text)
    flat = (each for document in documents for each in (document if isinstance(document, list) else [document]))
    _gather(flat, said, _BODY_LIMIT)
    if not documents and text.startswith("<"):  # what stands on a web page proves nothing
        _note(said, "page", "")
    elif not documents and not text.startswith(("{", "[")):
        _note(said, "message", text)
    return said


def errors_in_success(body: bytes) -> Iterator[Fields]:
    """Each error that a 2xx carries: a whole JSON body, a later element of an array, a frame of a stream."""
    if exception := _EVENT_STREAM_EXCEPTION.search(body):
        message = _EXCEPTION_MESSAGE.search(body, exception.end())
        text = message[1].decode("utf-8", "replace") if message else ""
        said: Fields = {}
        _gather([{"type": exception[1].decode("ascii"), "message": text}], said, _INSIDE_LIMIT)
        yield said
    room = _INSIDE_LIMIT
    for error in islice(_errors(body), _ERRORS_LIMIT):
        said = {}
        room = _gather([error], said, room)
        yield said


def is_json(data: bytes) -> bool:
    """Whether this is a whole JSON object or array."""
    return _json(data.decode("utf-8", "replace")) is not None


def _documents(body: bytes) -> Iterator[Any]:
    """The JSON values of a body: one; or one for each event of a stream (SSE); or one for each line (NDJSON)."""
    text = body.decode("utf-8-sig", "replace").strip()
    # An event may begin with a field that nobody knows (WHATWG HTML 9.2.6), but not as JSON or a page does.
    if text.startswith(("{", "[", "<")) or not _EVENTS.search(text):
        whole = _json(text)
        lines = text.split("\n") if whole is None else ()
        # A document on several lines that was cut short has lines that look whole, and mean nothing by themselves.
        ndjson = lines if lines and _json(lines[0]) is not None else ()
        yield from (value for value in (whole, *map(_json, ndjson)) if value is not None)
        return
    for event in re.sub(r"\r\n?", "\n", text).split("\n\n"):
        lines = event.split("\n")
        data = _json("\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:")))
        if isinstance(data, dict) and any(re.fullmatch("event: ?error", line) for line in lines):
            data.setdefault("error", True)  # the event's name says so, whatever its data looks like
        if data is not None:
            yield data


def _json(text: str) -> Any:
    """The value, its numbers left as text; None for what is no JSON object or array."""
    text = text.strip()
    if not text.startswith(("{", "[")) or not text.endswith(("}", "]")):
        return None
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _cut_short(text: str) -> list[Any]:
    """The JSON value whose beginning this is, without what the cut left incomplete; but the beginning of a long
    string counts: a message that quotes its request is what makes an error so long."""
    closing: list[str] = []  # what closes what is open
    end, comma, depth = 0, 0, 0  # of the last token; where the last comma stands, and how many are open there
    quote = ""
    for token in _TOKEN.finditer(text if text.startswith(("{", "[")) else ""):
        mark, end = token[0][0], token.end()
        quote = '"' if token[1] == "" and len(token[0]) > _CODE_LIMIT else ""
        if mark in "{[":
            closing.append("}" if mark == "{" else "]")
        elif mark == ",":
            comma, depth = token.start(), len(closing)
        elif mark in "}]":
            closing.pop()
            if not closing:
                break
    # The second, if the first ends with a name or in a short string.
    texts = (text[:end] + quote + "".join(reversed(closing)), text[:comma] + "".join(reversed(closing[:depth])))
    return [value for each in texts if (value := _json(each)) is not None][:1]


def _errors(body: bytes) -> Iterator[dict[str, Any]]:
    for document in _documents(body):
        for each in document if isinstance(document, list) else [document]:
            if isinstance(each, dict):
                yield from _errors_of(each)


def _errors_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a successful answer that its protocol marks as an error."""
    if "jsonrpc" in document:  # a tool's server (MCP): its errors are no model provider's
        return
    if _is_error(document) or document.get("type") == "error" or document.get("event_type") == "error":
        yield document
    if isinstance(response := document.get("response"), dict) and _is_error(response):  # OpenAI: response.failed
        yield {"error": response["error"]}
    choices = document.get("choices")
    for choice in choices if isinstance(choices, list) else ():  # OpenRouter
        if isinstance(choice, dict) and _is_error(choice):
            yield {"error": choice["error"]}
    if isinstance(base := document.get("base_resp"), dict) and base.get("status_code") != "0":  # MiniMax
        yield {"base_resp": base}


def _is_error(part: dict[str, Any]) -> bool:
    return part.get("error") not in (None, False, "", "0", {}, [])


def _gather(documents: Iterable[Any], said: Fields, room: int) -> int:
    """Note what the error fields of these documents say: of texts and codes `room` characters. What is left of it."""
    steps = (step for document in documents for step in _walk(document, _DEPTH))
    for name, value in islice(steps, _STEPS_LIMIT):
        if isinstance(value, str):
            name, value = name.lower(), value[:_TEXT_LIMIT]
            if name in _TEXTS or name in _CODES:
                value = value[:room]
                room -= len(value)
            _note(said, name, value)
    return room


def _walk(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Each value in the error fields of a document, of whatever type, with its name."""
    for name, inner in value.items() if isinstance(value, dict) and depth else ():
        yield name, inner
        if name.lower() in _CONTAINERS:
            listed = inner if isinstance(inner, list) else ()
            for each in listed or (inner,):
                if listed:
                    yield name, each
                yield from _walk(each, depth - 1)


def _note(said: Fields, name: str, value: str) -> None:
    value = value[:_TEXT_LIMIT].strip()
    _keep(said, name, value)
    if name in _TEXTS:
        _keep(said, "text", value)
        if found := _ZAI_PREFIX.match(value):
            _keep(said, "code", found[1])
    if name in _CODES:
        _keep(said, "code", code(value))


def _keep(said: Fields, name: str, value: str) -> None:
    values = said.setdefault(name, [])
    if len(values) < _VALUES_LIMIT:
        values.append(value)


def code(value: str) -> str:
    """A code without its trimmings: AWS writes `ns#Name:http://…`, Copilot `user_global_rate_limited:pro_plus`."""
    return value.lower().rpartition("#")[2].partition(":")[0].strip()
