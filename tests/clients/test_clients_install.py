# The cache of installs: made once, never half, and what cannot be made is not tried over and over.

from pathlib import Path

import pytest

from clients.install import NEWEST, Cache, NotInstalledError
from clients.program import Npm, Pip

PACKAGES = Npm(packages=("@scope/agent@1.2.3", "beside@4.5.6"))


class Maker:
    """Counts what it was asked for; fails while `reason` says why."""

    def __init__(self) -> None:
        self.asked: list[Npm | Pip] = []
        self.reason = ""

    def __call__(self, folder: Path, wanted: Npm | Pip) -> None:
        assert not list(folder.iterdir())
        self.asked.append(wanted)
        (folder / "part").touch()
        if self.reason:
            raise NotInstalledError(self.reason)


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.delenv(NEWEST, raising=False)
    return Maker()


def test_an_install_is_made_once_for_all_runs(tmp_path: Path, maker: Maker) -> None:
    first = Cache(tmp_path, "one", maker).get(PACKAGES)
    assert Cache(tmp_path, "two", maker).get(PACKAGES) == first
    assert maker.asked == [PACKAGES]
    assert "scope-agent-1.2.3" in first.name


def test_another_version_has_a_folder_of_its_own(tmp_path: Path, maker: Maker) -> None:
    cache = Cache(tmp_path, "one", maker)
    pinned = [Pip(packages=("agent==1",)), Pip(packages=("agent==2",)), Pip(packages=("agent==2",), python="3.12")]
    assert len({cache.get(wanted) for wanted in pinned}) == 3


def test_what_failed_is_tried_again_in_another_run_alone_and_from_nothing(tmp_path: Path, maker: Maker) -> None:
    maker.reason = "no such package\nno way"
    first = Cache(tmp_path, "one", maker)
    for _ in range(2):
        with pytest.raises(NotInstalledError, match="no such package\nno way"):
            first.get(PACKAGES)
    assert len(maker.asked) == 1
    maker.reason = ""
    assert (Cache(tmp_path, "two", maker).get(PACKAGES) / "part").exists()
    assert first.get(PACKAGES).exists()


def test_the_newest_is_looked_for_in_each_run(tmp_path: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = Cache(tmp_path, "one", maker).get(PACKAGES)
    monkeypatch.setenv(NEWEST, "1")
    for run in ("two", "two", "three"):
        assert Cache(tmp_path, run, maker).get(PACKAGES) != pinned
    assert maker.asked[1:] == [Npm(packages=("@scope/agent", "beside"))] * 2
