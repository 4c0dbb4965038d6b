import pytest

from proxy.config import BaseUrl, Counted, Upstream, counted

DEFAULT = Upstream(name="up", url=BaseUrl(scheme="http", host="h", port=80))


@pytest.mark.parametrize(
    ("method", "path", "takes_a_slot"),
    [
        ("POST", "/v1/messages", True),
        ("POST", "/", True),
        ("GET", "/v1/messages", False),
        ("PUT", "/v1/messages", False),
        ("post", "/v1/messages", False),
        ("POST", "/v1/messages/count_tokens", False),
        ("POST", "/v1/messages/xcount_tokens", True),
        ("POST", "/v1/messages/count_tokens/x", True),
        ("POST", "/v1beta/models/gemini-2.5-pro:countTokens", False),
        ("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", True),
        ("POST", "/tokenize", False),
        ("POST", "/v1/detokenize", False),
        ("POST", "/v1/files", False),
        ("POST", "/v1/files/x/content", False),
        ("POST", "/v1/myfiles/x", True),
        ("POST", "/v1/filesystem", True),
        ("POST", "/v1/uploads/u/parts", False),
        ("POST", "/v1/messages/batches", False),
        ("POST", "/api/event_logging/batch", False),
        ("POST", "/up/api/event_logging/batch", False),
        ("POST", "/api/claude_code/metrics", False),
        ("POST", "/api/claude_codex", True),
        ("POST", "/telemetry", False),
        ("POST", "/v1/%66iles", True),
    ],
)
def test_what_makes_the_provider_generate_takes_a_slot(method: str, path: str, takes_a_slot: bool) -> None:
    assert counted(DEFAULT, method, path) is takes_a_slot


def test_the_rules_can_be_replaced() -> None:
    rules = Counted(methods=frozenset({"POST", "PUT"}), except_=("/models/",))
    upstream = Upstream(name="up", url=DEFAULT.url, counted=rules)
    assert counted(upstream, "PUT", "/v1/files")
    assert not counted(upstream, "POST", "/v1/models/x")
    assert not counted(upstream, "PATCH", "/v1/x")
