# How long a check runs: some hundred examples from Hypothesis, which shrinks what it finds; or, with FUZZ_MINUTES set
# (`make fuzz`), as many seeds as fit in its share of that time.
#
# Rule 1: in CI the examples are the same each time: a red build belongs to the change that made it red.
# Rule 2: a failure says how to see it again: Hypothesis' own line, or FUZZ_SEED.

import os
import time
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Check = Callable[[Random], None]
_GRACE_S = 60.0  # what ends after its share is no hang; what takes this much longer is
_shares: list[int] = []  # the parts of all that share the time


def minutes() -> float:
    """How long all checks together may take; 0 where they take what CI gives them."""
    return float(os.environ.get("FUZZ_MINUTES", "0"))


def share(parts: int) -> None:
    """Says that somebody will ask for so many parts of the time."""
    _shares.append(parts)


def seeds(few: int, parts: int = 1) -> Iterator[int]:
    """`few` seeds, the same each time; or new ones for so many parts of the time; or FUZZ_SEED alone."""
    if "FUZZ_SEED" in os.environ:
        yield int(os.environ["FUZZ_SEED"])
        return
    if not minutes():
        yield from range(few)
        return
    end = time.monotonic() + minutes() * 60 * parts / sum(_shares)
    seed = time.time_ns()
    while time.monotonic() < end:
        yield seed
        seed += 1


def fuzzed(examples: int) -> Callable[[Check], Callable[..., None]]:
    """Makes a test of a check that draws everything from the Random it is given."""

    def wrap(check: Check) -> Callable[..., None]:
        share(1)
        if not minutes() and "FUZZ_SEED" not in os.environ:
            by_hypothesis = settings(
                max_examples=examples, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
            )
            return by_hypothesis(given(st.randoms(use_true_random=False))(check))

        @pytest.mark.timeout(minutes() * 60 + _GRACE_S)
        def for_a_while() -> None:
            for seed in seeds(0):
                try:
                    check(Random(seed))
                except BaseException as error:
                    error.add_note(f"FUZZ_SEED={seed} shows it again")
                    raise

        return for_a_while

    return wrap
