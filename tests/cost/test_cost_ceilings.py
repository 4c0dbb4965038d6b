# No request and no chunk gets dearer unseen: opcodes and calls against the figures that are kept.
#
# Where one is worth its price, `python -m tests.cost --write` keeps what it costs now, and the commit says why.

import warnings

import pytest

from . import ceilings
from .figures import Figures, cheaper, grown
from .measure import measured

KEPT = ceilings.read()
pytestmark = pytest.mark.skipif(not KEPT, reason=f"no figures for Python {ceilings.VERSION}: {ceilings.HOW} makes them")


@pytest.fixture(scope="module")
def now() -> dict[str, Figures]:
    return measured()


@pytest.mark.parametrize("work", KEPT)
@pytest.mark.filterwarnings("default:cheaper")
def test_work_is_not_much_dearer_than_it_was(work: str, now: dict[str, Figures]) -> None:
    if too_dear := grown(now[work], KEPT[work]):
        pytest.fail(f"{work}: {too_dear}\nIf it is worth that: {ceilings.HOW}", pytrace=False)
    if good_news := cheaper(now[work], KEPT[work]):
        warnings.warn(f"cheaper: {work}, {good_news}; {ceilings.HOW} holds it there", stacklevel=1)


def test_all_work_has_figures(now: dict[str, Figures]) -> None:
    assert list(now) == list(KEPT)
