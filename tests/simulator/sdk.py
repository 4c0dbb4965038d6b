# What the SDK in an agent does with an error: two more tries, and the provider's word on when.
#
# The rules of the OpenAI and Anthropic SDKs for Python: 0.5 s doubled up to 8 s with jitter downwards; a stated wait of
# up to 60 s is obeyed; x-should-retry decides where it is sent. An error inside a stream is not tried again.

import random

RETRIES = 2
_FIRST_S, _LONGEST_S, _OBEYED_S = 0.5, 8.0, 60.0
_TRANSIENT = (408, 409, 429)


def retry_in_s(
    status: int, headers: list[tuple[str, str]], tries: int, *, in_stream: bool, chance: random.Random
) -> float | None:
    """In how many seconds the call is made again after `tries`; None: it is given up."""
    said = {name.lower(): value for name, value in headers}
    ordered = {"true": True, "false": False}.get(said.get("x-should-retry", ""))
    transient = status in _TRANSIENT or status >= 500 if ordered is None else ordered
    if in_stream or tries > RETRIES or not transient:
        return None
    stated_s = _stated_s(said)
    if stated_s is not None and 0 < stated_s <= _OBEYED_S:
        return stated_s
    return min(_FIRST_S * 2.0 ** (tries - 1), _LONGEST_S) * (1 - 0.25 * chance.random())


def _stated_s(said: dict[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(said[name]) * unit
        except (KeyError, ValueError):
            continue
    return None
