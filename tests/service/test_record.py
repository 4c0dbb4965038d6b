# A request's line, written by hand, is the line that any other would be.

from hypothesis import given
from hypothesis import strategies as st
from records import record_of

from proxy.core.model import Kind
from proxy.service.log_rendering import PlainLine, renderer
from proxy.service.quoting import MAX_CHARS

TEXT = (
    st.none() | st.text(st.characters(), max_size=20) | st.sampled_from(["x" * MAX_CHARS, "\U0001f600\n" * MAX_CHARS])
)
NUMBER = st.integers(min_value=0)
FIELDS = st.fixed_dictionaries(
    {
        **dict.fromkeys(["method", "path", "upstream", "provider_id", "workspace"], TEXT),
        **dict.fromkeys(["conversation", "code", "why"], TEXT),
        **dict.fromkeys(["status", "ticket_id", "first_byte_ms"], st.none() | NUMBER),
        **dict.fromkeys(["waited_ms", "held_ms", "bytes", "absorbed"], NUMBER),
        "outcome": st.sampled_from(["completed", "abandoned", "cut", "refused", "reclaimed", "failed"]),
        "counted": st.booleans(),
        "refused": st.none() | st.sampled_from(Kind),
        "at_ms": st.integers(min_value=0, max_value=4_000_000_000_000),
    }
)


@given(FIELDS)
def test_a_line_written_by_hand_is_the_one_that_its_fields_make(fields: dict[str, object]) -> None:
    record = record_of(**fields)
    plain = PlainLine(record.at_ms, "info", "request.ended", record.fields)
    for form in ("json", "console"):
        render = renderer(form, 0)
        assert render(record) == render(plain)
