import pytest

from proxy.config import BaseUrl, Counted, Counting, Upstream

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
    assert Counting(DEFAULT).takes_slot(method, path) is takes_a_slot


def test_the_rules_can_be_replaced() -> None:
    rules = Counted(methods=frozenset({"POST", "PUT"}), except_=("/models/",))
    counting = Counting(Upstream(name="up", url=DEFAULT.url, counted=rules))
    assert counting.takes_slot("PUT", "/v1/files")
    assert not counting.takes_slot("POST", "/v1/models/x")
    assert not counting.takes_slot("PATCH", "/v1/x")


@pytest.mark.parametrize("rule", ["/a.b", "/a+b/", ":x*y"])
def test_a_rule_means_its_characters(rule: str) -> None:
    counting = Counting(Upstream(name="up", url=DEFAULT.url, counted=Counted(except_=(rule,))))
    assert not counting.takes_slot("POST", f"/v1{rule}")
    assert counting.takes_slot("POST", f"/v1{rule.replace('.', 'x').replace('+', 'a').replace('*', 'x')}y")


def test_without_exceptions_every_path_takes_a_slot() -> None:
    counting = Counting(Upstream(name="up", url=DEFAULT.url, counted=Counted(except_=())))
    assert counting.takes_slot("POST", "/v1/files")
