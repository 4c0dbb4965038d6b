# Who is asking, by the headers that real tools send: which source wins, what a bad one does, when the body is read.

import gzip
import json
from collections.abc import Callable, Mapping

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.config import load
from proxy.core.turns import TurnHints
from proxy.web.identity import OWN_HEADERS, Identity, Reader
from proxy.wire.head import parse_request

NOW_MS = 1_764_412_200_000
EARLIER_MS = NOW_MS - 60_000


def reader(**configured: list[str]) -> Reader:
    text = json.dumps({"identity": configured})
    return Reader(load(None, env={"HOME": "/"}, text=text).identity, b"key")


PLAIN = reader()


def read(
    headers: dict[str, str | bytes] | None = None,
    body: object = b"",
    *,
    route_workspace: str | None = None,
    by: Reader | None = None,
    fingerprint: bool = False,
) -> Identity:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (by or PLAIN).read(values(headers or {}), lambda: raw, route_workspace, NOW_MS, fingerprint=fingerprint)


def values(headers: Mapping[str, str | bytes]) -> dict[bytes, bytes]:
    """As a head has them."""
    return {
        name.lower().encode(): value if isinstance(value, bytes) else value.encode() for name, value in headers.items()
    }


def unread() -> bytes:
    raise AssertionError("the body was asked for")


def codex(**metadata: object) -> dict[str, str | bytes]:
    return {"x-codex-turn-metadata": json.dumps(metadata)}


def test_a_request_that_says_nothing_is_the_default_workspaces_and_nobodys() -> None:
    assert read() == Identity(workspace="default", conversation=None, prompt_started_at=None, turn=TurnHints(), bad=())


def test_our_own_headers_are_the_ones_to_remove() -> None:
    assert {b"x-slotgate-workspace", b"x-slotgate-conversation", b"x-slotgate-prompt-started-at"} == OWN_HEADERS


WORKSPACES: list[tuple[str, dict[str, str | bytes]]] = [
    ("own", {"X-Slotgate-Workspace": "own"}),
    ("route", {}),
    ("first", {"X-First": "first"}),
    ("second", {"X-Second": "second"}),
    ("id", {"X-Workspace-Id": "id"}),
    ("codex", codex(workspaces={"/home/me/codex": {}, "/other": {}})),
    ("0c95dcb1", {"X-Opencode-Project": "0c95dcb1"}),
]


@pytest.mark.parametrize("n", range(len(WORKSPACES)))
def test_the_workspace_comes_from_the_first_source_that_answers(n: int) -> None:
    headers = {name: value for _, source in WORKSPACES[n:] for name, value in source.items()}
    identity = read(
        dict(reversed(headers.items())),
        route_workspace="route" if n <= 1 else None,
        by=reader(workspace=["X-First", "x-second"]),
    )
    assert identity.workspace == WORKSPACES[n][0]


CONVERSATIONS = [
    "x-slotgate-conversation",
    "x-first",
    "x-second",
    "x-conversation-id",
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "x-affinity",
    "x-litellm-session-id",
    "x-opencode-session",
    "x-task-id",
    "agent-session-id",
    "goose-session-id",
    "thread-id",
]


@pytest.mark.parametrize("n", range(len(CONVERSATIONS)))
def test_the_conversation_comes_from_the_first_header_that_answers(n: int) -> None:
    headers: dict[str, str | bytes] = {name.title(): f"from {name}" for name in reversed(CONVERSATIONS[n:])}
    identity = read(headers, {"prompt_cache_key": "from the body"}, by=reader(conversation=["X-First", "x-second"]))
    assert identity.conversation == f"from {CONVERSATIONS[n]}"


@pytest.mark.parametrize(
    ("body", "conversation"),
    [
        ({"prompt_cache_key": "key", "metadata": {"user_id": "user", "session_id": "session"}}, "key"),
        ({"metadata": {"user_id": "user", "session_id": "session"}}, "user"),
        ({"metadata": {"user_id": '{"device_id": "d", "session_id": "inner"}', "session_id": "session"}}, "inner"),
        ({"metadata": {"user_id": '{"device_id": "d"}', "session_id": "session"}}, "session"),
        ({"metadata": {"session_id": "session"}}, "session"),
        ({"metadata": {"sessionId": "camel"}, "client_metadata": {"session_id": "codex"}}, "camel"),
        ({"metadata": {"sessionId": ""}, "client_metadata": {"session_id": "codex", "thread_id": "t"}}, "codex"),
        ({"client_metadata": {"thread_id": "thread"}}, "thread"),
        ({"client_metadata": ["session_id"]}, None),
        ({"metadata": {"session_id": ""}}, None),
        ({"metadata": None}, None),
        ({"messages": []}, None),
        (["prompt_cache_key"], None),
        (b'  \n{"prompt_cache_key": "key"}', "key"),
        (b'{"prompt_cache_key": "key"', None),
        (b"prompt_cache_key=key", None),
        (b"", None),
    ],
)
def test_without_a_header_the_body_names_the_conversation(body: object, conversation: str | None) -> None:
    identity = read({}, body)
    assert (identity.conversation, identity.bad) == (conversation, ())


@pytest.mark.parametrize(
    "body",
    [
        {"prompt_cache_key": 5},
        {"prompt_cache_key": "x" * 257},
        {"prompt_cache_key": "a\nb"},
        {"metadata": {"user_id": ["x"]}},
        {"metadata": {"user_id": '{"session_id": "x'}},
        {"metadata": {"user_id": '{"session_id": 5}'}},
        b'{"prompt_cache_key": "\\ud800"}',
    ],
)
def test_an_unreadable_conversation_in_the_body_is_noted(body: object) -> None:
    identity = read({}, body)
    assert (identity.conversation, identity.bad) == (None, ("conversation",))


STARTS: list[dict[str, str | bytes]] = [
    {"X-Slotgate-Prompt-Started-At": str(NOW_MS - 1000)},
    {"X-First": str(NOW_MS - 2000)},
    {"X-Second": str(NOW_MS - 3000)},
    {"X-Prompt-Started-At": str(NOW_MS - 4000)},
    codex(turn_started_at_unix_ms=NOW_MS - 5000),
]


@pytest.mark.parametrize("n", range(len(STARTS)))
def test_the_prompt_start_comes_from_the_first_header_that_answers(n: int) -> None:
    headers = {name: value for source in reversed(STARTS[n:]) for name, value in source.items()}
    identity = read(headers, by=reader(prompt_started_at=["x-first", "X-Second"]))
    assert identity.prompt_started_at == NOW_MS - 1000 * (n + 1)


def test_a_bad_value_is_noted_once_and_the_next_source_asked() -> None:
    identity = read(
        {
            "X-Slotgate-Workspace": "w" * 129,
            "X-Workspace-Id": "good",
            "X-Slotgate-Conversation": b"\x00",
            "X-Conversation-Id": "x" * 257,
            "session-id": "good",
            "X-Slotgate-Prompt-Started-At": "soon",
            "X-Prompt-Started-At": str(EARLIER_MS),
        }
    )
    assert (identity.workspace, identity.conversation, identity.prompt_started_at) == ("good", "good", EARLIER_MS)
    assert identity.bad == ("workspace", "prompt_started_at", "conversation")


def test_blank_values_are_absent_not_bad() -> None:
    identity = read(
        {
            "X-Slotgate-Workspace": " ",
            "X-Conversation-Id": "",
            "X-Prompt-Started-At": "\t",
            "x-codex-turn-metadata": "",
        },
    )
    assert (identity.workspace, identity.conversation, identity.bad) == ("default", None, ())


def test_the_first_of_repeated_headers_counts() -> None:
    head = parse_request(b"GET / HTTP/1.1\r\nHost: x\r\nSession-Id: one\r\nsession-id: two\r\n\r\n")
    assert PLAIN.read(head.values, lambda: b"", None, NOW_MS).conversation == "one"


def test_ids_may_be_as_long_as_allowed_and_in_any_script() -> None:
    identity = read({"X-Workspace-Id": " " + "é" * 128, "session-id": b"\xe9" * 256})
    assert (identity.workspace, identity.conversation) == ("é" * 128, "é" * 256)


@pytest.mark.parametrize("name", [".", "..", " .. "])
def test_steps_in_a_path_are_no_workspaces(name: str) -> None:
    identity = read({"X-Slotgate-Workspace": name, "X-Workspace-Id": "next"})
    assert (identity.workspace, identity.bad) == ("next", ("workspace",))
    assert read({"session-id": name}).conversation == name.strip(), "no path has it"
    named = read({"X-Workspace-Id": "next"}, route_workspace=name.strip())
    assert (named.workspace, named.bad) == ("next", ("workspace",))


@pytest.mark.parametrize(
    ("path", "workspace", "bad"),
    [
        ("/home/me/project", "project", ()),
        ("/home/me/project/", "project", ()),
        ("project", "project", ()),
        ("C:\\Users\\me\\project", "project", ()),
        ("/home/me/back\\slash", "back\\slash", ()),
        ("/", "default", ()),
        ("", "default", ()),
        ("/home/" + "x" * 129, "default", ("workspace",)),
        ("/home/new\nline", "default", ("workspace",)),
        ("/home/me/..", "default", ("workspace",)),
    ],
)
def test_codex_names_its_workspace_by_the_last_part_of_the_first_path(
    path: str, workspace: str, bad: tuple[str, ...]
) -> None:
    identity = read(codex(workspaces={path: {"latest_git_commit_hash": "x"}}))
    assert (identity.workspace, identity.bad) == (workspace, bad)


@pytest.mark.parametrize("value", ["{", "[1]", "null", "7", "\xff", '{"a":' * 9000, "9" * 5000])
def test_codex_metadata_that_is_no_object_is_noted(value: str) -> None:
    identity = read({"x-codex-turn-metadata": value, "session-id": "s"})
    assert (identity.conversation, identity.bad) == ("s", ("turn_metadata",))


@pytest.mark.parametrize("workspaces", [None, [], {}, "x", 5])
def test_codex_without_workspaces_is_in_the_default_one(workspaces: object) -> None:
    identity = read(codex(workspaces=workspaces, root_turn_id=7, turn_started_at_unix_ms=None))
    assert (identity.workspace, identity.prompt_started_at, identity.turn.prompt_id) == ("default", None, None)


def test_codex_as_it_comes() -> None:
    metadata = codex(turn_id="t2", root_turn_id="t1", turn_started_at_unix_ms=EARLIER_MS, workspaces={"/src/app": {}})
    headers = {**metadata, "session-id": "root", "thread-id": "own", "x-codex-parent-thread-id": "root"}
    identity = PLAIN.read(values(headers), unread, None, NOW_MS)
    assert identity == Identity(
        workspace="app",
        conversation="root",
        prompt_started_at=EARLIER_MS,
        turn=TurnHints(parent="root", prompt_id="t1", side=True),
        bad=(),
    )


@pytest.mark.parametrize("value", ["{", [1], 7, True])
def test_codex_metadata_in_the_body_that_is_no_object_is_noted(value: object) -> None:
    identity = read({}, {"client_metadata": {"session_id": "s", "x-codex-turn-metadata": value}})
    assert (identity.conversation, identity.bad) == ("s", ("turn_metadata",))


def test_codex_metadata_in_the_body_is_read_where_no_header_has_it() -> None:
    said = json.dumps({"workspaces": {"/src/body": {}}, "turn_started_at_unix_ms": EARLIER_MS, "root_turn_id": "t"})
    body = {"client_metadata": {"session_id": "s", "x-codex-turn-metadata": said}}
    identity = read({}, body)
    assert (identity.workspace, identity.prompt_started_at, identity.turn.prompt_id) == ("body", EARLIER_MS, "t")
    other = read(codex(workspaces={"/src/header": {}}, root_turn_id="h"), body)
    assert (other.workspace, other.prompt_started_at, other.turn.prompt_id) == ("header", None, "h")
    stated = read({"X-Workspace-Id": "own", "X-Prompt-Started-At": str(NOW_MS - 5)}, body)
    assert (stated.workspace, stated.prompt_started_at) == ("own", NOW_MS - 5)


def test_codex_turn_without_a_root_is_the_prompt_itself_but_not_a_sub_agents() -> None:
    assert read({**codex(turn_id="t"), "session-id": "s"}).turn.prompt_id == "t"
    sub_agent = read({**codex(turn_id="t", subagent_kind="spawn", parent_thread_id="p"), "session-id": "s"}).turn
    assert (sub_agent.prompt_id, sub_agent.parent, sub_agent.side) == (None, "p", True)


def test_claude_code_as_it_comes() -> None:
    headers: dict[str, str | bytes] = {"X-Claude-Code-Session-Id": "s", "x-claude-code-request-class": "main"}
    body = {"messages": [{"role": "user", "content": "hello"}]}
    turn = read(headers, body).turn
    assert (turn.continues, turn.side, turn.prompt_id, turn.parent) == (False, False, None, None)
    assert read({**headers, "x-claude-code-prompt-id": "p"}, body).turn == TurnHints(prompt_id="p")
    assert read({**headers, "x-claude-code-agent-id": "a"}, body).turn.side
    assert read({**headers, "x-claude-code-parent-agent-id": "a"}, body).turn.side
    assert read({**headers, "x-claude-code-request-class": "auxiliary"}, body).turn.side


def test_opencode_sub_agents_name_their_parent() -> None:
    identity = read({"x-session-id": "ses_2", "x-parent-session-id": "ses_1"})
    assert (identity.conversation, identity.turn.parent, identity.turn.side) == ("ses_2", "ses_1", True)


@pytest.mark.parametrize(("value", "said"), [("user", True), ("Agent", False), ("robot", None), ("", None)])
def test_copilot_says_who_initiated(value: str, said: bool | None) -> None:
    assert read({"x-initiator": value}).turn.user_initiated is said


def test_equal_bodies_of_a_conversation_have_equal_hashes() -> None:
    hashes = [read({"session-id": "s"}, body).turn.body_hash for body in (b"{}", b"{}", b"{} ")]
    assert hashes[0] == hashes[1] != hashes[2]
    assert read({"session-id": "s"}, b"").turn.body_hash is None


DECIDED: list[dict[str, str | bytes]] = [
    {"x-prompt-started-at": str(EARLIER_MS)},
    {"x-claude-code-prompt-id": "p"},
    {"x-initiator": "agent"},
]


@pytest.mark.parametrize("headers", DECIDED)
def test_the_body_is_not_asked_for_when_the_headers_say_everything(headers: dict[str, str]) -> None:
    assert PLAIN.read(values({**headers, "session-id": "s"}), unread, None, NOW_MS).conversation == "s"


@pytest.mark.parametrize("headers", [{}, *DECIDED, {"session-id": "s"}, {"session-id": "s", "x-initiator": "user"}])
def test_the_body_is_asked_for_at_most_once(headers: dict[str, str]) -> None:
    calls: list[int] = []

    def body() -> bytes:
        calls.append(1)
        return b'{"prompt_cache_key": "k", "messages": [{"role": "user", "content": "x"}]}'

    PLAIN.read(values(headers), body, None, NOW_MS)
    assert len(calls) <= 1


def test_a_content_encoded_body_is_read_through_a_decoded_copy() -> None:
    body = json.dumps({"prompt_cache_key": "k", "messages": [{"role": "tool", "content": "x"}]}).encode()
    for coding, coded in (("gzip", gzip.compress(body, mtime=1)), ("zstd", zstandard.compress(body))):
        identity = read({"content-encoding": coding}, coded)
        assert (identity.conversation, identity.turn.continues) == ("k", True)
        assert identity.turn.body_hash == read({}, body).turn.body_hash, "whenever it was compressed"
    assert read({"content-encoding": "Identity"}, body).conversation == "k"


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br, gzip", "Unknown"])
def test_a_body_that_cannot_be_decoded_is_hashed_but_not_read(coding: str) -> None:
    body = {"prompt_cache_key": "k", "messages": [{"role": "tool", "content": "x"}]}
    assert read({"content-encoding": coding}, body, fingerprint=True).conversation is None
    turn = read({"content-encoding": coding, "session-id": "s"}, body).turn
    assert (turn.continues, turn.tools, turn.body_hash is None) == (None, None, False)


def test_a_huge_body_is_neither_read_nor_hashed() -> None:
    huge = b'{"prompt_cache_key": "k", "input": "' + b"x" * (8 * 1024 * 1024) + b'"}'
    assert read({}, huge, fingerprint=True).conversation is None
    assert read({"session-id": "s"}, huge).turn == TurnHints()


SAYS_NOTHING = {"messages": [{"role": "user", "content": "hello"}], "tools": []}


def test_a_fingerprint_is_made_where_it_is_asked_for_and_nothing_else_names_the_conversation() -> None:
    assert read({}, SAYS_NOTHING).conversation is None
    made = read({}, SAYS_NOTHING, fingerprint=True)
    assert made.conversation is not None
    assert made.conversation.startswith("fp:")
    assert (made.turn.continues, made.turn.tools, made.turn.body_hash is None) == (False, False, False)
    assert read({"x-session-id": "s"}, SAYS_NOTHING, fingerprint=True).conversation == "s"
    assert read({}, {**SAYS_NOTHING, "prompt_cache_key": "k"}, fingerprint=True).conversation == "k"


def test_an_unreadable_name_is_replaced_by_a_fingerprint_and_noted() -> None:
    identity = read({}, {**SAYS_NOTHING, "prompt_cache_key": 5}, fingerprint=True)
    assert str(identity.conversation).startswith("fp:")
    assert identity.bad == ("conversation",)


NAMES = st.sampled_from(
    [
        b"x-slotgate-workspace",
        b"x-slotgate-conversation",
        b"x-slotgate-prompt-started-at",
        b"x-codex-turn-metadata",
        b"x-claude-code-prompt-id",
        b"x-parent-session-id",
        b"x-initiator",
        b"content-encoding",
        b"session-id",
    ]
)
FIELDS = [
    *("prompt_cache_key", "metadata", "user_id", "session_id", "messages", "input", "contents", "role", "type"),
    *("content", "parts", "text", "functionResponse", "workspaces", "root_turn_id", "turn_started_at_unix_ms"),
    *("client_metadata", "x-codex-turn-metadata", "sessionId", "promptId", "thread_id", "tools", "system"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=20,
)
BYTES = st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode())


@given(st.dictionaries(NAMES, BYTES, max_size=6), BYTES)
def test_whatever_the_bytes_reading_never_fails_and_gives_usable_facts(headers: dict[bytes, bytes], raw: bytes) -> None:
    body: Callable[[], bytes] = lambda: raw  # noqa: E731
    identity = PLAIN.read(headers, body, None, NOW_MS, fingerprint=True)
    for name in (identity.workspace, identity.conversation, identity.turn.prompt_id, identity.turn.parent):
        assert name is None or (1 <= len(name.encode()) <= 1024 and "\n" not in name and "\x00" not in name)
    assert len(identity.workspace) <= 128
    assert identity.prompt_started_at is None or 0 < identity.prompt_started_at <= NOW_MS
    assert set(identity.bad) <= {"workspace", "conversation", "prompt_started_at", "turn_metadata"}
