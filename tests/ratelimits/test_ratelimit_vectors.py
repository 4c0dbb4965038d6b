# Every answer of the vectors is read as it says: what some fifty providers and servers really send, with what must not
# be taken for a refusal beside it. vectors.json was handed to us; vectors_more.json holds its neighbours.
#
# Rule: a new row of rules.py comes with a vector in vectors_more.json.

import json
from datetime import datetime
from pathlib import Path

import pytest

from proxy.core.model import Kind
from proxy.ratelimits import Verdict, classify
from proxy.ratelimits.rule import STATUSES

HERE = Path(__file__).parent
VECTORS = [
    vector
    for name in ("vectors.json", "vectors_more.json")
    for vector in json.loads((HERE / name).read_text("utf-8"))
]  # fmt: skip
# Where the words are not enough: the same answer from another provider would mean something else.
NEEDS_PRESET = {
    "cohere-498-ra", "deepseek-429", "deepseek-429-empty", "deepseek-sse-concurrency", "deepseek-tpm-text",
    "featherless-429", "llama-swap-429", "llama-swap-429-empty", "llama-swap-429-json", "tei-429-openai",
    "umans-429-boxed-ra", "umans-429-ra1", "umans-429-ra10", "umans-429-ra2", "umans-429-silent", "vertex-quota-text",
}  # fmt: skip
UNRELATED = [("x-request-id", "429"), ("set-cookie", "limit=0; reset=5"), ("x-retries", "0"), ("via", "1.1 concurrent")]
HARMLESS = [
    vector for vector in VECTORS if vector["expect"]["kind"] == "none"
    and STATUSES.get(vector["status"], (Kind.NONE,))[0] == Kind.NONE
]  # fmt: skip

each_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])


def read(vector, preset, headers=None, body=None):
    headers = [(name, value) for name, value in vector["headers"]] if headers is None else headers
    now = datetime.fromisoformat(vector["now"]).timestamp()
    body = vector["body"].encode() if body is None else body
    return classify(vector["status"], headers, body, preset=preset, now=now)


def is_json(text):
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def expected(vector):
    return Verdict(kind=vector["expect"]["kind"], retry_after_ms=vector["expect"]["retry_after_ms"])


@each_vector
def test_the_answer_is_read_as_the_vector_says(vector):
    assert read(vector, vector["provider"]) == expected(vector), vector["expect"]["scope_note"]


@each_vector
def test_no_preset_is_needed_where_the_words_are_enough(vector):
    assert (read(vector, None) == expected(vector)) == (vector["id"] not in NEEDS_PRESET)


@each_vector
def test_case_and_order_of_headers_and_unrelated_ones_change_nothing(vector):
    headers = [(name.swapcase(), value) for name, value in vector["headers"]]
    headers = [*UNRELATED, *sorted(headers, key=lambda header: header[0].lower(), reverse=True)]
    assert read(vector, vector["provider"], headers=headers) == expected(vector)


@pytest.mark.parametrize(
    "vector", [vector for vector in VECTORS if is_json(vector["body"])], ids=lambda vector: vector["id"]
)
def test_the_way_its_json_is_written_changes_nothing(vector):
    said = json.loads(vector["body"])
    compact = json.dumps(said, separators=(",", ":"))
    escaped = compact.replace("m", "\\u006d")  # no literal of JSON has an m
    pretty = json.dumps(said, indent=2, ensure_ascii=False).replace("\n", "\r\n")
    for text in (compact, escaped, pretty, "\ufeff" + compact, f"\n \t{compact}\r\n"):
        assert read(vector, vector["provider"], body=text.encode("utf-8", "surrogatepass")) == expected(vector)


@pytest.mark.parametrize("vector", HARMLESS, ids=lambda vector: vector["id"])
def test_a_harmless_body_cut_short_anywhere_is_no_refusal(vector):
    body = vector["body"].encode()
    for end in range(len(body)):
        assert read(vector, vector["provider"], body=body[:end]).kind == "none"


@each_vector
def test_a_body_cut_short_loses_no_wait_of_the_headers(vector):
    body = vector["body"].encode()
    kept = read(vector, vector["provider"], body=b"").retry_after_ms
    for end in range(0, len(body), 31 + len(body) // 50):
        verdict = read(vector, vector["provider"], body=body[:end])
        assert verdict.kind == "none" or kept is None or verdict.retry_after_ms is not None
