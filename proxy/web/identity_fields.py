# The fields of a request's JSON body that say who is asking; identity_json finds them.
#
# Rule 1: what stands in a message stays a Raw until somebody asks for its value, and so does what stands in its parts:
#         an agent sends its whole history with each request, and of a megabyte of it the two ends matter.
# Rule 2: this module is not compiled (setup.py): it is msgspec that makes something of its classes.

import msgspec
from msgspec import UNSET, Raw, UnsetType

ABSENT = Raw(b"null")


class Other(msgspec.Struct, frozen=True, gc=False):
    """An object where none should be."""


Items = list[Raw] | Other | str | int | float | bool | None


class Fields(msgspec.Struct, frozen=True, gc=False):
    """Top-level fields as they stand in the body; absent is null. What is a Raw is for `value` or `names`."""

    prompt_cache_key: Raw = ABSENT  # OpenAI
    metadata: Raw = ABSENT  # Anthropic, Qwen
    client_metadata: Raw = ABSENT  # Codex
    previous_response_id: Raw = ABSENT  # OpenAI Responses
    instructions: Raw = ABSENT  # the system's text: OpenAI Responses
    system: Raw = ABSENT  # Anthropic
    system_instruction: Raw = ABSENT  # Gemini, which takes both spellings
    system_instruction_camel: Raw = msgspec.field(default=ABSENT, name="systemInstruction")
    messages: Items = None  # OpenAI chat, Anthropic
    input: Items = None  # OpenAI Responses
    contents: Items = None  # Gemini
    tools: Raw = ABSENT
    functions: Raw = ABSENT  # OpenAI chat, before there were tools


class Names(msgspec.Struct, frozen=True, gc=False):
    """What `metadata` or `client_metadata` names."""

    user_id: Raw = ABSENT  # Anthropic
    session_id: Raw = ABSENT
    session_id_camel: Raw = msgspec.field(default=ABSENT, name="sessionId")  # Qwen Code, to DashScope
    prompt_id: Raw = msgspec.field(default=ABSENT, name="promptId")
    thread_id: Raw = ABSENT  # Codex
    codex_turn: Raw = msgspec.field(default=ABSENT, name="x-codex-turn-metadata")


class Item(msgspec.Struct, frozen=True, gc=False):
    """A message, or a part of one. `content` is that of Gemini's `parts` where there is no other."""

    role: Items = None
    type: Items = None
    text: Items = None
    content: Items | UnsetType = UNSET
    parts: Items | UnsetType = UNSET  # Gemini's word for content
    function_response: Raw = ABSENT  # Gemini, which takes both spellings
    function_response_camel: Raw = msgspec.field(default=ABSENT, name="functionResponse")


class Attached(msgspec.Struct, frozen=True, gc=False):
    """Where a part of a message has its picture, sound or file."""

    source: Raw = ABSENT  # Anthropic
    image_url: Raw = ABSENT  # OpenAI: an object in chat, a text in Responses
    input_audio: Raw = ABSENT  # OpenAI chat
    file: Raw = ABSENT
    file_id: Raw = ABSENT  # OpenAI Responses
    file_url: Raw = ABSENT
    file_data: Raw = ABSENT  # and Gemini
    file_data_camel: Raw = msgspec.field(default=ABSENT, name="fileData")
    inline_data: Raw = ABSENT  # Gemini
    inline_data_camel: Raw = msgspec.field(default=ABSENT, name="inlineData")


NOTHING = Fields()
"""What a body says that says nothing."""
NAMELESS = Names()

BODY = msgspec.json.Decoder(Fields)
NAMES = msgspec.json.Decoder(Names)
ATTACHED = msgspec.json.Decoder(Attached)
VALUE = msgspec.json.Decoder(Item | list[Raw] | str | int | float | bool | None)
