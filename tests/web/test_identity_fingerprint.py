# What a conversation that nobody names is called: the same for each of its requests in every format, and another where
# another agent, prompt, program or credential begins it.

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proxy.web.identity_fingerprint import CHARACTERS, FIRST, fingerprint
from proxy.web.identity_json import read

HEADERS = {b"authorization": b"Bearer sk-1", b"user-agent": b"agent/1.0"}
KEY = b"of this process"
Body = dict[str, Any]


def fp(body: object, headers: Mapping[bytes, bytes] = HEADERS, key: bytes = KEY) -> str | None:
    return fingerprint(key, headers, read(body if isinstance(body, bytes) else json.dumps(body).encode()))


def chat(system: str, prompt: str, steps: list[str]) -> Body:
    history: list[Body] = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    for n, step in enumerate(steps):
        call = {"id": f"call_{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        history.append({"role": "tool", "tool_call_id": f"call_{n}", "content": step})
    return {"model": "m", "messages": history}


def anthropic(system: str, prompt: str, steps: list[str]) -> Body:
    history: list[Body] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    for n, step in enumerate(steps):
        history.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{n}", "name": "r", "input": {}}]}
        )
        history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": step}]})
    last = history[-1]["content"][-1]  # moves with each request
    last["cache_control"] = {"type": "ephemeral"}
    return {"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": system}], "messages": history}


def responses(system: str, prompt: str, steps: list[str]) -> Body:
    items: list[Body] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]},
    ]
    for n, step in enumerate(steps):
        items.append({"type": "reasoning", "encrypted_content": "x"})
        items.append({"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{n}", "output": step})
    return {"model": "m", "instructions": system, "input": items}


def gemini(system: str, prompt: str, steps: list[str]) -> Body:
    history: list[Body] = [{"role": "user", "parts": [{"text": prompt}]}]
    for step in steps:
        history.append({"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]})
        history.append({"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"o": step}}}]})
    return {"systemInstruction": {"parts": [{"text": system}]}, "contents": history}


FORMATS = [chat, anthropic, responses, gemini]
Format = Callable[[str, str, list[str]], Body]
in_every_format = pytest.mark.parametrize("form", FORMATS)
TEXT = st.text(min_size=1, max_size=30)
STEPS = st.lists(TEXT, max_size=4)


@in_every_format
@given(system=st.text(max_size=30), prompt=TEXT, steps=STEPS, more=STEPS, follow_up=TEXT)
def test_a_conversation_keeps_its_name_as_its_history_grows(
    form: Format, system: str, prompt: str, steps: list[str], more: list[str], follow_up: str
) -> None:
    name = fp(form(system, prompt, []))
    assert name is not None
    assert re.fullmatch("fp:[0-9a-f]{16}", name)
    grown = form(system, prompt, steps + more)
    assert fp(grown) == name
    history = grown.get("messages", grown.get("input", grown.get("contents")))
    history.append({"role": "user", "parts" if form is gemini else "content": [{"text": follow_up}]})
    assert fp({"temperature": 1, **dict(reversed(grown.items())), "stream": True}) == name


@in_every_format
@given(one=st.tuples(TEXT, TEXT), other=st.tuples(TEXT, TEXT), steps=STEPS)
def test_another_system_text_or_first_message_is_another_conversation(
    form: Format, one: tuple[str, str], other: tuple[str, str], steps: list[str]
) -> None:
    assume(one != other)
    assert fp(form(*one, steps)) != fp(form(*other, steps))
    assert fp(form(*one, steps)) != fp(form(one[0], one[1] + "!", steps)) != fp(form(one[0] + "!", one[1], steps))


@in_every_format
def test_the_border_between_system_text_and_first_message_counts(form: Format) -> None:
    assert fp(form("do it", "quickly", [])) != fp(form("do", " itquickly", []))


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "api-key", "x-goog-api-key", "user-agent"])
def test_another_credential_or_program_is_another_conversation(name: str) -> None:
    body, field = chat("s", "p", []), name.encode()
    others = [HEADERS | {field: value} for value in (b"", b"one", b"two", b"Bearer sk-1 agent/1.0")]
    without = {each: value for each, value in HEADERS.items() if each != field}
    assert len({fp(body, headers) for headers in [without, *others]}) == 5


def test_what_other_headers_say_and_in_which_order_does_not_matter() -> None:
    headers = {**dict(reversed(HEADERS.items())), b"x-stainless-retry-count": b"1", b"content-length": b"9"}
    assert fp(chat("s", "p", []), headers) == fp(chat("s", "p", []))


def test_another_process_has_another_name_for_it() -> None:
    assert fp(chat("s", "p", []), key=b"of the next process") != fp(chat("s", "p", []))


ONE_TEXT = [
    {"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "do it"}]},
    {"messages": [{"content": "do it", "role": "user"}], "system": "be brief"},
    {
        "system": [{"type": "text", "text": "be "}, {"type": "text", "text": "brief", "cache_control": {"type": "x"}}],
        "messages": [{"role": "user", "content": [{"text": "do", "type": "text"}, {"type": "text", "text": " it"}]}],
    },
    {"messages": [{"role": "developer", "content": "be "}, {"role": "system", "content": "brief"}, *[
        {"role": "user", "content": [{"type": "text", "text": "do it"}, {"type": "image_url"}]}
    ]]},
    {"instructions": "be brief", "input": "do it"},
    {"instructions": None, "input": [
        {"role": "developer", "content": "be brief"}, {"role": "user", "content": "do it"}
    ]},
    {"instructions": "be ", "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "brief"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do it"}]},
    ]},
    {"system_instruction": {"parts": {"text": "?"}}, "systemInstruction": "be brief", "contents": [
        {"parts": [{"text": "do it"}]}
    ]},
    {"system": "be brief", "messages": [
        {"role": "assistant", "content": "What shall I do?"}, {"role": "user", "content": "do it"}
    ]},
]  # fmt: skip


@pytest.mark.parametrize("body", ONE_TEXT)
def test_only_the_texts_count_however_they_are_written(body: Body) -> None:
    assert fp(body) == fp(ONE_TEXT[0])


def test_what_a_client_adds_by_itself_before_the_first_message_is_passed_over() -> None:
    def said(reminder: str, prompt: str) -> Body:
        reminded = {"role": "user", "content": [{"type": "text", "text": f"<system-reminder>\n{reminder}"}]}
        return {"system": "be brief", "messages": [reminded, {"role": "user", "content": prompt}]}

    assert fp(said("it is noon", "do it")) == fp(said("it is one", "do it")) == fp(ONE_TEXT[0])
    assert fp(said("it is noon", "do that")) != fp(ONE_TEXT[0])


def test_a_first_message_of_which_nothing_is_known_counts_as_it_stands() -> None:
    names = {fp({"messages": [{"role": "user", "content": [{"type": "hologram", "at": at}]}]}) for at in ("a", "b")}
    assert len(names) == 2
    assert None not in names


PICTURES: list[tuple[str, str, Callable[[str], Body]]] = [
    ("messages", "content", lambda data: {"type": "image", "source": {"type": "base64", "data": data}}),
    ("messages", "content", lambda data: {"type": "image_url", "image_url": {"url": data}}),
    ("messages", "content", lambda data: {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}),
    ("messages", "content", lambda data: {"type": "file", "file": {"file_data": data}}),
    ("input", "content", lambda data: {"type": "input_image", "image_url": data}),
    ("input", "content", lambda data: {"type": "input_file", "file_id": data}),
    ("contents", "parts", lambda data: {"inlineData": {"mimeType": "image/png", "data": data}}),
    ("contents", "parts", lambda data: {"file_data": {"file_uri": data}}),
]


@pytest.mark.parametrize("text", [[], [{"type": "text", "text": "what is on it?"}]])
@pytest.mark.parametrize(("field", "parts", "picture"), PICTURES)
def test_what_is_attached_to_the_first_message_counts_but_not_what_clients_write_beside_it(
    field: str, parts: str, picture: Callable[[str], Body], text: list[Body]
) -> None:
    def name(part: Body, *more: Body) -> str | None:
        return fp({field: [{"role": "user", parts: [*text, part]}, *more]})

    later = {"role": "user", parts: [{"text": "and now?"}]}
    long = "A" * 2 * CHARACTERS
    names = {name(picture(data)) for data in ("a", "b", long, long + "A")}
    assert len(names) == 4
    assert None not in names
    marked = {"cache_control": {"type": "ephemeral"}, **dict(reversed(picture("a").items()))}
    assert name(marked) == name(picture("a"), later) == name(picture("a"))


NO_BEGINNING: list[object] = [
    {},
    {"messages": []},
    {"messages": None, "system": "be brief"},
    {"messages": [{"role": "system", "content": "be brief"}]},
    {"messages": [{"role": "assistant", "content": "hello"}]},
    {"messages": ["do it"]},
    {"messages": {"role": "user", "content": "do it"}},
    {"messages": [{"role": "assistant", "content": "x"}] * FIRST + [{"role": "user", "content": "do it"}]},
    {"input": ["one", "two"], "model": "embed"},
    {"prompt": "complete this"},
    {"previous_response_id": "resp_1", "input": [{"role": "user", "content": "do it"}]},
    {"previous_response_id": "resp_1", "instructions": "", "input": "do it"},
    b"",
    b"not JSON",
    b"{" * 1000,
]


@pytest.mark.parametrize("body", NO_BEGINNING)
def test_what_has_no_beginning_has_no_name(body: object) -> None:
    assert fp(body) is None


def test_what_goes_on_from_an_earlier_answer_is_known_by_its_system_text_alone() -> None:
    later = [
        {"previous_response_id": f"resp_{n}", "instructions": "be brief", "input": [{"type": kind, "output": "x"}]}
        for n, kind in enumerate(("function_call_output", "message"))
    ]
    assert fp(later[0]) == fp(later[1]) is not None
    assert fp(later[0]) != fp(later[0] | {"instructions": "be long"})
    assert fp({"previous_response_id": None, "instructions": "x", "input": "do it"}) == fp(
        {"instructions": "x", "input": "do it"}
    )


def test_of_a_long_text_the_beginning_and_the_length_count() -> None:
    long = "é" * CHARACTERS
    assert fp(chat(long, long, [])) != fp(chat(long + "a", long, [])) != fp(chat(long + "ab", long, []))
    assert fp(chat(long, long + "a", [])) != fp(chat(long, long + "ab", []))
    assert fp(chat(long + "a", "p", [])) == fp(chat(long + "b", "p", []))


@pytest.mark.parametrize("emoji", ["\\ud83d", "\ud83d"])
def test_half_an_emoji_anywhere_spoils_nothing(emoji: str) -> None:
    whole = json.dumps(chat("s", "p", ["step"]), ensure_ascii=False)
    name = fp(whole.encode())
    assert fp(whole.replace("step", emoji).encode("utf-8", "surrogatepass")) == name is not None
    first = fp(whole.replace('"p"', f'"p{emoji}"').encode("utf-8", "surrogatepass"))
    assert first not in (None, name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("messages", "input", "contents", "system", "instructions", "systemInstruction", "tools"),
                    *("previous_response_id", "role", "content", "parts", "text", "user", "type"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON.map(lambda body: json.dumps(body).encode()) | st.binary())
def test_whatever_the_body_it_has_a_name_or_none(raw: bytes) -> None:
    name = fp(raw)
    assert name is None or re.fullmatch("fp:[0-9a-f]{16}", name)


def aider(files: str, *said: str, examples: bool = False) -> Body:
    """What aider 0.86 sends: the files, as they are at the time, stand before what is said last."""
    shown = [{"role": "user", "content": files}, {"role": "assistant", "content": "Ok."}]
    talk = [
        {"role": role, "content": text} for role, text in zip(["user", "assistant"] * len(said), said, strict=False)
    ]
    example = [
        {"role": "user", "content": "Change get_factorial() to use math.factorial"},
        {"role": "assistant", "content": "Like this."},
        {"role": "user", "content": "I switched to a new code base. Please don't consider the above files."},
        {"role": "assistant", "content": "Ok."},
    ]
    system = {"role": "system", "content": "Act as an expert"}
    return {"messages": [system, *(example if examples else []), *talk[:-1], *shown, talk[-1]]}


@pytest.mark.parametrize("examples", [False, True])
@pytest.mark.parametrize(
    "files",
    [
        "I have *added these files to the chat*\n\na.py\n```\n1\n```",
        "I am not sharing any files that you can edit yet.",
    ],
)
def test_what_aider_shows_of_its_files_and_its_examples_begin_no_conversation(files: str, examples: bool) -> None:
    first = fp(aider(files, "Fix the bug", examples=examples))
    later = aider(
        "I have *added these files to the chat*\n\nb.py\n```\n2\n```",
        "Fix the bug",
        "Done",
        "And test it",
        examples=examples,
    )
    assert fp(later) == first
    assert fp(aider(files, "Another thing", examples=examples)) != first
