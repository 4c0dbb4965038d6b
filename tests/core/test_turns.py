# The turn tracker: which requests share a prompt start, told as little stories of one or two conversations.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.turns import KNOWN_PROMPTS, OpenRequest, TurnHints, Turns

NOTHING = TurnHints()
USER_TEXT = TurnHints(continues=False)
TOOL_RESULT = TurnHints(continues=True)
EPOCH_MS = 1_764_000_000_000  # wall clock at monotonic 0


class Story:
    """One provider; times are seconds since the story began, starts likewise."""

    def __init__(self, gap_s: float = 600.0, capacity: int = 10_000) -> None:
        self.turns = Turns(gap_s=gap_s, capacity=capacity)

    def begin(
        self,
        at: float,
        hints: TurnHints = NOTHING,
        *,
        conversation: str | None = "c",
        provider: str = "p",
        stated: float | None = None,
    ) -> OpenRequest:
        return self.turns.begin(
            provider,
            conversation,
            hints,
            stated_ms=None if stated is None else EPOCH_MS + int(stated * 1000),
            now=at,
            now_ms=EPOCH_MS + int(at * 1000),
        )

    def starts(self, at: float, hints: TurnHints = NOTHING, **more: object) -> float:
        """When the turn of a request began that arrives at `at` and ends at once."""
        request = self.begin(at, hints, **more)
        self.turns.end(request, at)
        return (request.started_at - EPOCH_MS) / 1000


def test_the_first_request_of_a_conversation_begins_its_turn() -> None:
    for hints in (NOTHING, USER_TEXT, TOOL_RESULT, TurnHints(user_initiated=False), TurnHints(prompt_id="a")):
        assert Story().starts(7, hints) == 7


def test_without_a_conversation_each_request_starts_when_it_arrives() -> None:
    story = Story()
    assert [story.starts(at, conversation=None) for at in (1, 2)] == [1, 2]
    assert story.starts(3, conversation=None, stated=1) == 1
    assert len(story.turns) == 0


@pytest.mark.parametrize(
    ("hints", "idle_s", "same_turn"),
    [
        (NOTHING, 600, True),
        (NOTHING, 600.1, False),
        (USER_TEXT, 1, False),
        (TOOL_RESULT, 1, True),
        (TOOL_RESULT, 100_000, True),
        (TurnHints(user_initiated=True), 1, False),
        (TurnHints(user_initiated=True, continues=True), 1, False),
        (TurnHints(user_initiated=False), 100_000, True),
        (TurnHints(user_initiated=False, continues=False), 1, True),
        (TurnHints(continues=False, side=True), 1, True),
        (TurnHints(continues=False, side=True), 601, False),
        (TurnHints(prompt_id="new"), 1, False),
        (TurnHints(prompt_id="new", continues=True), 1, False),
        (TurnHints(body_hash=1, continues=False), 1, True),
        (TurnHints(body_hash=1, user_initiated=True), 1, True),
        (TurnHints(body_hash=1, continues=False), 601, False),
        (TurnHints(body_hash=2, continues=False), 1, False),
    ],
)
def test_what_a_request_says_after_an_idle_time_decides_its_turn(
    hints: TurnHints, idle_s: float, same_turn: bool
) -> None:
    story = Story()
    assert story.starts(10, TurnHints(body_hash=1, continues=False)) == 10
    assert story.starts(10 + idle_s, hints) == (10 if same_turn else 10 + idle_s)


@pytest.mark.parametrize(
    ("hints", "same_turn"),
    [
        (NOTHING, True),
        (USER_TEXT, True),
        (TOOL_RESULT, True),
        (TurnHints(user_initiated=True), False),
        (TurnHints(prompt_id="new"), False),
    ],
)
def test_what_a_request_says_while_another_is_open_for_an_hour(hints: TurnHints, same_turn: bool) -> None:
    story = Story()
    story.begin(0)
    assert story.starts(3600, hints) == (0 if same_turn else 3600)


def test_the_gap_is_counted_from_the_last_end_not_from_the_beginning() -> None:
    story = Story()
    long = story.begin(0)
    story.turns.end(long, 5000)
    assert story.starts(5500) == 0
    assert story.starts(6000) == 0
    assert story.starts(6601) == 6601


def test_a_changed_gap_counts_from_then_on() -> None:
    story = Story()
    story.starts(0)
    story.turns.gap_s = 10
    assert story.starts(11) == 11


def test_ending_one_request_twice_does_not_end_another() -> None:
    story = Story()
    first, _second = story.begin(0), story.begin(1)
    story.turns.end(first, 2)
    story.turns.end(first, 3)
    assert story.starts(3600, USER_TEXT) == 0


def test_user_text_begins_a_turn_once_nothing_is_open() -> None:
    story = Story()
    requests = [story.begin(at) for at in (0, 1)]
    for request in requests:
        story.turns.end(request, 2)
    assert story.starts(3, USER_TEXT) == 3


def test_the_same_prompt_id_continues_and_shares_its_start_with_side_requests() -> None:
    story = Story()
    main = TurnHints(prompt_id="p1", continues=False)
    assert story.starts(0, main) == 0
    assert story.starts(3000, main) == 0
    assert story.starts(3001, TurnHints(prompt_id="p1", continues=False, side=True)) == 0


def test_an_earlier_prompt_that_still_runs_keeps_its_start_and_leaves_the_current_turn_alone() -> None:
    story = Story()
    first, second = TurnHints(prompt_id="p1"), TurnHints(prompt_id="p2")
    assert [story.starts(at, hints) for at, hints in ((0, first), (10, second), (20, first))] == [0, 10, 0]
    assert story.starts(21, second) == 10
    assert story.starts(22, TOOL_RESULT) == 10


def test_only_the_latest_prompt_ids_are_remembered() -> None:
    story = Story()
    for n in range(KNOWN_PROMPTS + 1):
        story.starts(n, TurnHints(prompt_id=f"p{n}"))
    assert story.starts(50, TurnHints(prompt_id="p1")) == 1
    assert story.starts(51, TurnHints(prompt_id="p0")) == 51


def test_a_stated_start_is_believed_and_inherited() -> None:
    story = Story()
    assert story.starts(100, stated=40) == 40
    assert story.starts(101, TOOL_RESULT) == 40
    assert story.starts(102, stated=90) == 90
    assert story.starts(103) == 90


def test_a_stated_start_in_the_future_is_now() -> None:
    story = Story()
    assert story.starts(100, stated=500) == 100
    assert story.starts(100, stated=500, conversation=None) == 100


def test_a_sub_agent_of_a_prompt_does_not_start_later_than_the_prompt() -> None:
    story = Story()
    root = TurnHints(prompt_id="root-turn")
    assert story.starts(10, root, stated=9) == 9
    assert story.starts(50, root, stated=49) == 9
    assert story.starts(60, TurnHints(prompt_id="next-turn"), stated=59) == 59


def test_a_sub_agent_with_an_own_conversation_inherits_its_parents_turn() -> None:
    story = Story()
    child = TurnHints(parent="c", side=True, continues=False)
    story.starts(0, USER_TEXT)
    assert story.starts(5, child, conversation="sub") == 0
    assert story.starts(6, TurnHints(parent="sub", side=True, continues=False), conversation="sub-sub") == 0
    assert story.starts(7, TOOL_RESULT) == 0


def test_a_sub_agent_at_work_keeps_its_parents_turn_alive() -> None:
    story = Story()
    story.starts(0)
    request = story.begin(5, TurnHints(parent="c", side=True), conversation="sub")
    assert story.starts(2000) == 0
    story.turns.end(request, 3000)
    assert story.starts(3600) == 0


def test_an_unknown_parent_a_parent_elsewhere_and_oneself_as_parent_mean_nothing() -> None:
    story = Story()
    story.starts(0, provider="elsewhere")
    assert story.starts(1, TurnHints(parent="c"), conversation="sub") == 1
    assert story.starts(2, TurnHints(parent="c")) == 2
    assert story.starts(3, TurnHints(parent="c")) == 2


STEP = TurnHints(continues=False, tools=True, body_hash=1)  # of an agent: a person's text, with tools
TITLE = TurnHints(continues=False, tools=False, body_hash=2)  # asked beside it


def test_a_title_asked_beside_the_first_prompt_shares_its_start() -> None:
    story = Story()
    step = story.begin(10, STEP)
    assert story.starts(10.01, TITLE) == 10
    story.turns.end(step, 20)
    assert story.starts(21, TITLE) == 10
    assert story.starts(25, TOOL_RESULT) == 10


def test_a_title_asked_just_before_a_later_prompt_neither_begins_it_nor_takes_it_back_to_the_last_one() -> None:
    story = Story()
    story.starts(0, STEP)
    title = story.begin(99.9, TITLE)
    assert title.started_at == EPOCH_MS
    assert story.starts(100, STEP._replace(body_hash=3)) == 100
    story.turns.end(title, 101)
    assert story.starts(102, TOOL_RESULT) == 100


def test_a_title_that_came_first_of_all_and_still_waits_does_not_hold_the_next_prompt_back() -> None:
    story = Story()
    title = story.begin(0, TITLE)
    assert story.starts(0.01, STEP) == 0.01
    assert story.starts(100, STEP._replace(body_hash=3)) == 100
    story.turns.end(title, 101)
    open_step = story.begin(200, STEP._replace(body_hash=4))
    assert story.starts(201, STEP._replace(body_hash=5)) == 200
    story.turns.end(open_step, 202)
    assert story.starts(203, STEP._replace(body_hash=6)) == 203


def test_a_summary_to_remember_long_after_the_prompt_starts_when_it_comes_and_moves_nothing() -> None:
    story = Story()
    story.starts(0, STEP)
    assert story.starts(2000, TITLE) == 2000
    assert story.starts(2001, TOOL_RESULT) == 0


@pytest.mark.parametrize("later", [TurnHints(tools=True), STEP])
def test_what_is_asked_beside_a_prompt_again_and_again_does_not_keep_it_alive(later: TurnHints) -> None:
    story = Story()
    story.starts(0, STEP)
    for at in (500, 1000):
        story.starts(at, TITLE)
    beside = story.begin(1400, TITLE)
    assert story.starts(1500, later) == 1500
    story.turns.end(beside, 1501)


def test_a_last_step_without_tools_keeps_its_prompt_alive_while_it_is_open_and_for_the_gap_behind() -> None:
    story = Story()
    story.starts(0, STEP)
    last = story.begin(500, TurnHints(continues=True, tools=False))
    assert story.starts(1500, STEP._replace(body_hash=3)) == 0
    story.turns.end(last, 2000)
    assert story.starts(2600) == 0


@pytest.mark.parametrize("beside", [TITLE, TurnHints(continues=False, side=True, tools=True, body_hash=2)])
def test_a_step_is_known_again_though_something_was_asked_beside_it(beside: TurnHints) -> None:
    story = Story()
    story.starts(0, STEP)
    story.starts(1, beside)
    assert story.starts(60, STEP) == 0


@pytest.mark.parametrize("said", [TurnHints(user_initiated=True, tools=False), TurnHints(prompt_id="new", tools=False)])
def test_what_a_request_without_tools_says_itself_is_believed(said: TurnHints) -> None:
    story = Story()
    story.starts(0, STEP)
    assert story.starts(5, said) == 5
    assert story.starts(6, TOOL_RESULT) == 5


SAME = TurnHints(continues=False, body_hash=1)


@pytest.mark.parametrize(
    ("hints", "answered", "start"),
    [
        (SAME, False, 0),
        (SAME, True, 0),  # a client that names its conversation may have missed the answer
        (SAME._replace(nameless=True), False, 0),
        (SAME._replace(nameless=True), True, 5),
        (SAME._replace(nameless=True, continues=None), True, 0),  # only the gap tells
        (SAME._replace(nameless=True, continues=True), True, 0),
    ],
)
def test_the_same_words_again_after_an_answer_are_another_prompt_where_the_beginning_is_all_that_names_it(
    hints: TurnHints, answered: bool, start: float
) -> None:
    story = Story()
    story.turns.end(story.begin(0, hints), 1, answered=answered)
    assert story.starts(5, hints) == start


def test_the_same_words_while_others_are_open_belong_to_them_and_each_has_its_own_answer() -> None:
    story, nameless = Story(), SAME._replace(nameless=True)
    first, second = story.begin(0, nameless), story.begin(1, nameless)
    story.turns.end(first, 2, answered=True)
    assert second.started_at == EPOCH_MS
    assert story.begin(3, nameless).started_at == EPOCH_MS


def test_an_answer_to_something_else_does_not_answer_what_is_sent_again() -> None:
    story, nameless = Story(), SAME._replace(nameless=True)
    lost, other = story.begin(0, nameless), story.begin(0, nameless._replace(body_hash=2))
    story.turns.end(lost, 1)
    story.turns.end(other, 1, answered=True)
    assert story.starts(2, nameless._replace(body_hash=3)) == 2
    lost = story.begin(3, nameless._replace(body_hash=4))
    story.turns.end(lost, 4)
    assert story.starts(5, nameless._replace(body_hash=4)) == 3


def test_a_last_step_to_which_no_tools_are_offered_is_a_step() -> None:
    story = Story()
    story.starts(0, STEP)
    assert story.starts(2000, TurnHints(continues=True, tools=False)) == 0


def test_where_nobody_offers_tools_each_text_is_a_prompt() -> None:
    story = Story()
    assert [story.starts(at, TITLE._replace(body_hash=at)) for at in (1, 2)] == [1, 2]
    story.starts(3, STEP._replace(side=True))  # a sub-agent's tools are not the conversation's
    assert story.starts(4, TITLE._replace(body_hash=4)) == 4


def test_conversations_and_providers_do_not_mix() -> None:
    story = Story()
    assert story.starts(0) == 0
    assert story.starts(1, conversation="d") == 1
    assert story.starts(2, provider="q") == 2


def test_the_least_recently_used_conversation_is_forgotten_first() -> None:
    story = Story(capacity=2)
    story.starts(0, conversation="a")
    story.starts(1, conversation="b")
    story.starts(2, conversation="a")
    story.starts(3, conversation="c")
    assert len(story.turns) == 2
    assert story.starts(4, conversation="a") == 0
    assert story.starts(5, conversation="b") == 5


def test_a_conversation_with_an_open_request_outlives_idle_ones() -> None:
    story = Story(capacity=3)
    story.begin(0, conversation="busy")
    for n in range(20):
        story.starts(1 + n, conversation=f"idle{n}")
    assert story.starts(3600, conversation="busy") == 0


def test_one_more_than_all_are_open_is_still_remembered_and_bounded() -> None:
    story = Story(capacity=20)
    requests = [story.begin(n, conversation=str(n)) for n in range(40)]
    assert len(story.turns) == 20
    for request in requests:
        story.turns.end(request, 50)
    assert story.starts(60, conversation="39") == 39
    assert story.starts(61, USER_TEXT, conversation="39") == 61


def test_a_wall_clock_set_back_gives_no_start_in_the_future() -> None:
    turns = Turns()
    turns.begin("p", "c", NOTHING, now=1, now_ms=EPOCH_MS)
    assert turns.begin("p", "c", NOTHING, now=2, now_ms=EPOCH_MS - 5000).started_at == EPOCH_MS - 5000
    assert turns.begin("p", "c", NOTHING, now=3, now_ms=EPOCH_MS + 5000).started_at == EPOCH_MS - 5000


def test_it_shows_how_full_it_is() -> None:
    story = Story(capacity=5)
    story.starts(0)
    assert repr(story.turns) == "<Turns 1/5 conversations>"


IDS = st.sampled_from(["a", "b", "c", "d", "e"])
HINTS = st.builds(
    TurnHints,
    parent=st.none() | IDS,
    prompt_id=st.none() | st.sampled_from(["x", "y"]),
    user_initiated=st.none() | st.booleans(),
    continues=st.none() | st.booleans(),
    side=st.booleans(),
    tools=st.none() | st.booleans(),
    body_hash=st.none() | st.sampled_from([1, 2]),
    nameless=st.booleans(),
)
STEPS = st.lists(
    st.tuples(st.floats(0, 400), st.none() | IDS, HINTS, st.none() | st.integers(-9000, 9000), st.booleans())
)


@given(STEPS)
def test_whatever_comes_it_stays_bounded_balanced_and_never_starts_in_the_future(
    steps: list[tuple[float, str | None, TurnHints, int | None, bool]],
) -> None:
    story, now, open_requests = Story(capacity=3), 0.0, []
    for wait, conversation, hints, stated, ends in steps:
        now += wait
        request = story.begin(now, hints, conversation=conversation, stated=stated)
        assert request.started_at <= EPOCH_MS + int(now * 1000)
        assert len(story.turns) <= 3
        open_requests.append(request)
        if ends:
            story.turns.end(open_requests.pop(0), now)
    for request in open_requests:
        story.turns.end(request, now)
    # Nothing is left open: an hour later a person's text begins a turn in every conversation.
    for conversation in "abcde":
        assert story.starts(now + 3600, USER_TEXT, conversation=conversation) == int((now + 3600) * 1000) / 1000


@given(st.lists(st.tuples(st.floats(0, 599), st.booleans()), min_size=1))
def test_within_a_turn_the_start_does_not_move(steps: list[tuple[float, bool]]) -> None:
    story, now = Story(), 0.0
    story.starts(0)
    for wait, ends in steps:
        now += wait
        request = story.begin(now, TOOL_RESULT if ends else NOTHING)
        assert request.started_at == EPOCH_MS
        story.turns.end(request, now)
