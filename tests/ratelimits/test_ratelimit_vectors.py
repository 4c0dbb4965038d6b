# Every answer of vectors.json is read as it says: what some forty providers and servers really send.
#
# Rule: a new row of rules.py comes with a vector here.

import json
from datetime import datetime
from pathlib import Path

import pytest

from proxy.ratelimits import Verdict, classify

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text("utf-8"))


def read(vector, preset):
    headers = [(name, value) for name, value in vector["headers"]]
    now = datetime.fromisoformat(vector["now"]).timestamp()
    return classify(vector["status"], headers, vector["body"].encode(), preset=preset, now=now)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_the_answer_is_read_as_the_vector_says(vector):
    expect = Verdict(kind=vector["expect"]["kind"], retry_after_ms=vector["expect"]["retry_after_ms"])
    assert read(vector, vector["provider"]) == expect, vector["expect"]["scope_note"]
