# The project of a process: its repository's name, else its folder's; nothing for daemons, nor for a home.

import subprocess
import sys
from pathlib import Path

import pytest

from proxy.service.whereabouts import project_of
from proxy.wire.peer import can_be_known

pytestmark = pytest.mark.skipif(not can_be_known(), reason="this system does not tell")

WAIT = "import sys; print('here', flush=True); sys.stdin.read()"
# A child that nobody waits for, in a session of its own or not; it says its pid once its parent is gone.
ORPHAN = """
import os, sys, time
parent = os.getpid()
if os.fork(): os._exit(0)
if sys.argv[1] == "detached": os.setsid()
while os.getppid() == parent: time.sleep(0.01)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def begin():
    """Starts a process in a folder and gives its id, once it is there."""
    started = []

    def start(folder, *arguments, code=WAIT, **options):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )
        started.append(process)
        word = process.stdout.readline().strip()
        return int(word) if word.isdecimal() else process.pid

    yield start
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    return path


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def test_process_in_a_repository_works_on_it_however_deep_it_is(begin, tmp_path):
    top = repository(tmp_path / "my project")
    assert project_of(begin(top)) == "my project"
    assert project_of(begin(folder(top / "src" / "deep"))) == "my project"
    assert project_of(begin(repository(top / "vendor" / "other"))) == "other"


def test_worktree_is_a_project_of_its_own(begin, tmp_path):
    (folder(tmp_path / "branch") / ".git").write_text("gitdir: elsewhere")
    assert project_of(begin(tmp_path / "branch")) == "branch"


def test_process_outside_of_any_repository_works_on_its_folder(begin, tmp_path):
    assert project_of(begin(folder(tmp_path / "notes"))) == "notes"


@pytest.mark.parametrize("where", [Path("/"), Path.home(), Path.home().parent])
def test_home_and_what_is_above_it_say_nothing(begin, where):
    assert project_of(begin(where)) is None


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb", "x" * 129, "\udcff", " ", "\u3164"])
def test_folder_whose_name_cannot_be_a_workspace_says_nothing(begin, tmp_path, name):
    assert project_of(begin(folder(tmp_path / name))) is None


def test_blanks_around_a_folder_s_name_make_no_other_project(begin, tmp_path):
    assert project_of(begin(repository(tmp_path / " my project "))) == "my project"


@pytest.mark.parametrize("twin", [False, True])
def test_folder_that_was_removed_says_nothing(begin, tmp_path, twin):
    pid = begin(folder(tmp_path / "gone"))
    (tmp_path / "gone").rmdir()
    if twin:
        (tmp_path / "gone (deleted)").mkdir()  # as the kernel calls the one that was removed
    assert project_of(pid) is None


@pytest.mark.parametrize(
    "arguments", [("/usr/bin/codex", "app-server"), ("cline", "--cline-hub-daemon", "--cwd", "/somewhere")]
)
def test_daemons_that_agents_leave_behind_say_nothing(begin, tmp_path, arguments):
    assert project_of(begin(tmp_path, *arguments)) is None


@pytest.mark.parametrize("arguments", [("app-server",), ("/usr/bin/codex", "exec")])
def test_other_words_make_no_daemon(begin, tmp_path, arguments):
    assert project_of(begin(tmp_path, *arguments)) == tmp_path.name


def test_what_has_lost_its_parent_and_its_terminal_says_nothing(begin, tmp_path):
    assert project_of(begin(tmp_path, "detached", code=ORPHAN)) is None
    elsewhere = {"start_new_session": True}  # than init, which in a container may be what has started the tests
    assert project_of(begin(tmp_path, "left", code=ORPHAN, **elsewhere)) is None


def test_child_in_a_session_of_its_own_is_no_daemon_while_its_parent_lives(begin, tmp_path):
    assert project_of(begin(tmp_path, start_new_session=True)) == tmp_path.name


def test_process_that_has_ended_says_nothing():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert project_of(process.pid) is None
