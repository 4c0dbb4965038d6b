# What passes through a socket is what was sent, whatever the split of the bytes: all of it but the messages that are
# kept back, and words of our own only between messages.

from hypothesis import example, given
from hypothesis import strategies as st
from rawsides.frames import BINARY, CONTINUATION, PING, TEXT, frame, said

from proxy.config.settings import Queue
from proxy.web.budget import BodyBudget
from proxy.web.socket.downward import HELD_MAX, Downward
from proxy.web.socket.upward import Upward

REFUSAL, WORDS = b"refusal", b"words"
OURS = frame(b"our own words")


class Relay:
    """Keeps what is passed on."""

    def __init__(self):
        self.passed = bytearray()

    def data(self, data):
        self.passed += data


class Hearer:
    """Holds as it is told, and keeps back what says REFUSAL while it is held; says its own at WORDS."""

    def __init__(self, holds):
        self.holds = holds
        self.down = None
        self.heard_texts = []
        self.moved = 0

    def upstream_moved(self, size):
        self.moved += size

    def heard(self, payload, frames, end):
        self.heard_texts.append(payload)
        if payload.startswith(WORDS):
            self.down.say(OURS)
        return bool(frames) and payload == REFUSAL

    def caught_up(self):
        pass

    def upstream_closes(self):
        raise AssertionError("nobody closes")

    def upstream_fault(self, fault):
        raise AssertionError(fault)


TEXTS = st.sampled_from([b"", REFUSAL, WORDS, b"x" * 200, b"y" * (HELD_MAX + 10)])


@st.composite
def messages(draw, make):
    """Messages as lists of frames: (opcode, payload, is a control frame, raw)."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        opcode, payload = draw(st.sampled_from([TEXT, TEXT, TEXT, BINARY])), draw(TEXTS)
        cuts = sorted(draw(st.lists(st.integers(0, len(payload)), max_size=2)))
        parts = [payload[a:b] for a, b in zip([0, *cuts], [*cuts, len(payload)], strict=True)]
        frames = []
        for number, part in enumerate(parts):
            if draw(st.booleans()):
                frames.append((True, make(b"ping", PING)))
            frames.append((False, make(part, CONTINUATION if number else opcode, fin=number == len(parts) - 1)))
        found.append((opcode, payload, frames))
    return found


def pieces_of(data, cuts):
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


CUTS = st.lists(st.integers(0, 10**7), max_size=10)


@given(messages(frame), CUTS, st.booleans())
@example([(TEXT, WORDS, [(False, frame(WORDS))]), (TEXT, b"", [(False, frame(b""))])], [8], False)
def test_what_the_upstream_says_passes_but_for_what_is_kept_back(made, cuts, holds):
    relay, hearer = Relay(), Hearer(holds)
    down = hearer.down = Downward(relay, hearer, relay)
    whole = b"".join(raw for *_, frames in made for _, raw in frames)
    for piece in pieces_of(whole, cuts):
        down.data(piece)
    kept_back = [holds and opcode == TEXT and payload == REFUSAL for opcode, payload, _ in made]
    wanted_data = [
        raw
        for (*_, frames), kept in zip(made, kept_back, strict=True)
        for is_control, raw in frames
        if not is_control and not kept
    ]
    wanted_control = sum(is_control for *_, frames in made for is_control, _ in frames)
    found = split_up(bytes(relay.passed))
    ours = sum(opcode == TEXT and payload == WORDS for opcode, payload, _ in made)
    assert [raw for is_control, raw in found if not is_control and raw != OURS] == wanted_data
    assert sum(is_control for is_control, _ in found) == wanted_control
    assert sum(raw == OURS for _, raw in found) == ours
    assert hearer.heard_texts == [payload for opcode, payload, _ in made if opcode == TEXT]
    inside = False
    for is_control, raw in found:
        assert not (raw == OURS and inside), "our own words stand inside a message"
        if not is_control:
            inside = not raw[0] & 0x80


def split_up(data):
    """The frames in this, unmasked."""
    found = []
    while data:
        short = data[1]
        extra = {126: 2, 127: 8}.get(short, 0)
        length = int.from_bytes(data[2 : 2 + extra], "big") if extra else short
        size = 2 + extra + length
        found.append((data[0] & 0x0F >= 8, data[:size]))
        data = data[size:]
    return found


class Listener:
    """Keeps what the client says."""

    def __init__(self):
        self.controls = []
        self.messages = []
        self.refusals = []

    def control(self, raw):
        self.controls.append(raw)

    def message(self, message):
        self.messages.append((message.frames, message.text))
        message.share.close()

    def too_large(self, error):
        self.refusals.append(error.code)

    def client_closes(self, raw):
        raise AssertionError("nobody closes")

    def client_ends(self):
        raise AssertionError("nobody ends")

    def client_fault(self, fault):
        raise AssertionError(fault)


@given(messages(said), CUTS, st.sampled_from([1024, 1024**2]))
def test_what_the_client_says_is_gathered_as_it_came_but_for_what_is_too_large(made, cuts, limit):
    listener, budget = Listener(), BodyBudget()
    settings = Queue(body_limit=limit, body_budget=64 * 1024**2)
    up = Upward(listener, lambda: budget.share("p", settings))
    whole = b"".join(raw for *_, frames in made for _, raw in frames)
    for piece in pieces_of(whole, cuts):
        up.data(piece)
    fits = [(opcode, payload, frames) for opcode, payload, frames in made if len(payload) <= limit]
    assert listener.messages == [
        ([raw for is_control, raw in frames if not is_control], payload if opcode == TEXT else None)
        for opcode, payload, frames in fits
    ]
    assert listener.controls == [raw for *_, frames in made for is_control, raw in frames if is_control]
    assert listener.refusals == ["body_too_large"] * (len(made) - len(fits))
    assert budget.used == 0
    assert up.moved == len(whole)
