# What a configuration may say though it has no effect: nobody is left to rely on it.

import sys
from pathlib import Path

import pytest
from fake_admin_api import Run

REDIS = "state: redis://me:secret@h/0"


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("keys", "remark"),
    [
        (
            "auto_restore: 30m, auto_reduce: false",
            "auto_restore: without effect, since auto_reduce is false: nothing lowers the limit",
        ),
        ("cooldown: auto", "cooldown: auto: there is no usage to learn from, so it only grows, after refusals"),
        ("auto_restore: 30m", None),
        ("auto_reduce: false", None),
        ("limit: auto, auto_reduce: false", None),  # it learns all the same
        ("cooldown: auto, usage: {url: /u, field: n}", None),
        ("strikes: 10, pause: {max: 10s}", None),
    ],
)
def test_check_says_which_keys_have_no_effect_beside_others(
    run: Run, tmp_path: Path, keys: str, remark: str | None
) -> None:
    result = run("check", "--config", write(tmp_path / "c.yaml", f"upstreams: {{a: {{url: http://h, {keys}}}}}"))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == ([f"slotgate: upstreams.a.{remark}"] if remark else [])


def test_check_says_which_parts_of_a_user_agent_name_a_client_that_102s_break(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "queue: {keepalive: [my-agent, python-requests, urllib/, Go-http]}")
    assert run("check", "--config", file).stderr.splitlines() == [
        "slotgate: queue.keepalive: python-requests: requests takes a 102 for the answer",
        "slotgate: queue.keepalive: urllib/: urllib takes a 102 for the answer",
    ]


@pytest.mark.parametrize("known", [True, False])
def test_check_says_where_no_system_tells_whose_a_connection_is(
    run: Run, tmp_path: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.cli.remarks.can_be_known", lambda: known)
    result = run("check", "--config", write(tmp_path / "c.yaml", "identity: {workspace_from_peer: true}"))
    assert (result.exit_code, "workspace_from_peer: without effect" in result.stderr) == (0, not known)


def test_check_takes_a_shared_state(run: Run, tmp_path: Path) -> None:
    result = run("check", "--config", write(tmp_path / "c.yaml", REDIS))
    assert (result.exit_code, result.stderr, "secret" in result.output) == (0, "", False)


def test_serve_says_in_one_line_what_a_shared_state_needs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("proxy.store.redis", "proxy.replicas.server"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "redis", None)
    result = run("serve", "--config", write(tmp_path / "c.yaml", REDIS))
    assert (result.exit_code, result.stderr.count("\n"), "secret" in result.output) == (78, 1, False)
    assert "slotgate[redis]" in result.stderr


def test_a_configuration_without_such_keys_is_told_nothing(run: Run) -> None:
    assert run("check").stderr == ""
