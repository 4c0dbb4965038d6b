# Which proxy a command talks to, with which token, and what it says when that does not work.

import json
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_admin_api import Api, Run

from proxy.cli import admin as admin_room

STAR = {"workspaceId": "w", "starred": True, "queued": 2, "inFlight": 1}
PUT_STAR = "PUT /concurrency/workspaces/w"


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_the_address_may_come_from_the_option_the_environment_or_the_configuration(
    api: Api, run: Run, tmp_path: Path
) -> None:
    api.answers[PUT_STAR] = (200, STAR)
    address = api.url.removeprefix("http://")
    file = write(tmp_path / "c.yaml", f"admin: {{listen: '{address}'}}")
    assert run("star", "w", "--admin", api.url).exit_code == 0
    assert run("star", "w", "--admin", address).exit_code == 0
    assert run("star", "w", "--config", file).exit_code == 0
    assert run("star", "w", SLOTGATE_CONFIG=file).exit_code == 0
    assert run("star", "w", SLOTGATE_CONFIG=str(tmp_path / "none"), SLOTGATE_ADMIN=api.url).exit_code == 0
    assert [asked.body for asked in api.asked] == [{"starred": True}] * 5


def test_a_unix_socket_is_reached_by_option_and_by_configuration(unix_api: Api, run: Run, tmp_path: Path) -> None:
    unix_api.answers[PUT_STAR] = (200, STAR)
    file = write(tmp_path / "c.yaml", f"admin: {{listen: '{unix_api.url}'}}")
    assert run("star", "w", "--admin", unix_api.url).stdout == "w: starred, 1 in flight, 2 queued\n"
    assert run("star", "w", "--config", file).exit_code == 0
    assert unix_api.last.headers["Host"] == "localhost"


def test_an_address_that_is_bound_everywhere_is_reached_on_this_machine(api: Api, run: Run, tmp_path: Path) -> None:
    api.answers[PUT_STAR] = (200, STAR)
    token = write(tmp_path / "token", "t0ken")
    port = api.url.rpartition(":")[2]
    file = write(tmp_path / "c.yaml", f"admin: {{listen: '0.0.0.0:{port}', token_file: {token}}}")
    assert run("star", "w", "--config", file).exit_code == 0
    assert api.last.headers["Host"] == f"127.0.0.1:{port}"


def test_a_base_path_in_front_of_the_admin_api_is_kept(api: Api, run: Run) -> None:
    api.answers["PUT /slotgate/concurrency/workspaces/w"] = (200, STAR)
    assert run("star", "w", "--admin", f"{api.url}/slotgate/").exit_code == 0


def test_the_token_of_the_configuration_goes_only_to_the_address_beside_it(api: Api, run: Run, tmp_path: Path) -> None:
    api.answers[PUT_STAR] = (200, STAR)
    token = write(tmp_path / "token", "s3cret\n")
    address = api.url.removeprefix("http://")
    file = write(tmp_path / "c.yaml", f"admin: {{listen: '{address}', token_file: {token}}}")
    run("star", "w", "--config", file)
    assert api.last.headers["Authorization"] == "Bearer s3cret"
    run("star", "w", "--config", file, "--admin", api.url)
    assert "Authorization" not in api.last.headers
    run("star", "w", "--admin", api.url, "--token-file", token)
    assert api.last.headers["Authorization"] == "Bearer s3cret"
    run("star", "w", "--admin", api.url, SLOTGATE_TOKEN_FILE=token)
    assert api.last.headers["Authorization"] == "Bearer s3cret"


def test_a_configuration_that_is_broken_elsewhere_still_leads_to_the_proxy(api: Api, run: Run, tmp_path: Path) -> None:
    api.answers[PUT_STAR] = (200, STAR)
    write(tmp_path / "token", "s3cret")
    address = api.url.removeprefix("http://")
    file = write(
        tmp_path / "c.yaml",
        f"admin: {{listen: '{address}', token_file: ./token}}\nnonsense: 1\nqueue: {{keepalive: ['${{UNSET_HERE}}']}}",
    )
    assert run("star", "w", "--config", file).exit_code == 0
    assert api.last.headers["Authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    "text", ["admin: {listen: nowhere}\nnonsense: 1", "- nonsense: 1", "a: [", "admin: 3", "admin: {listen: off}"]
)
def test_a_configuration_that_does_not_lead_to_it_is_told_with_every_error(run: Run, tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "c.yaml", text)
    result, checked = run("status", "--config", file), run("check", "--config", file)
    hint = "slotgate: a proxy that runs is reached all the same with --admin URL\n"
    assert (result.exit_code, result.stderr) == (78, checked.stderr + hint)


def test_an_admin_api_that_is_turned_off_is_named(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", 'admin: {listen: "off"}')
    result = run("status", "--config", file)
    assert (result.exit_code, result.stderr.count("turns the admin API off")) == (1, 1)


def test_a_proxy_that_is_not_running_is_told_with_its_address(run: Run, tmp_path: Path) -> None:
    with socket.socket() as sock:  # bound, not listening
        sock.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        result = run("status", "--admin", url)
        as_json = run("status", "--admin", url, "--json")
    words = f"the proxy is not running at {url}; start it with: slotgate serve"
    assert (result.exit_code, result.stderr) == (1, f"slotgate: {words}\n")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout) == {"error": {"code": "not_running", "message": words}}
    assert "not running at unix:" in run("status", "--admin", f"unix:{tmp_path}/none.sock").stderr


def test_a_proxy_that_does_not_answer_is_not_waited_for_for_ever(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.admin.PATIENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        result = run("status", "--admin", f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert (result.exit_code, "does not answer" in result.stderr) == (1, True)


def test_what_else_keeps_it_from_being_reached_is_told(api: Api, run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("status", "--admin", f"unix:{tmp_path}/file/below")
    assert (result.exit_code, "cannot be reached" in result.stderr, "Not a directory" in result.stderr) == (
        1,
        True,
        True,
    )
    assert run("status", "--admin", api.url.replace("http:", "https:")).exit_code == 1  # no TLS there


def test_a_missing_and_a_wrong_token_are_told_apart(api: Api, run: Run, tmp_path: Path) -> None:
    api.answers[PUT_STAR] = (401, {"error": {"code": "unauthorized", "message": "…"}})
    token = write(tmp_path / "token", "s3cret")
    without, wrong = run("star", "w", "--admin", api.url), run("star", "w", "--admin", api.url, "--token-file", token)
    assert (without.exit_code, "needs a token" in without.stderr) == (1, True)
    assert (wrong.exit_code, "does not accept this token" in wrong.stderr) == (1, True)
    assert "s3cret" not in wrong.output


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"two\nlines", b"\xff", "tök".encode()])
def test_a_token_file_without_one_token_is_refused(api: Api, run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    result = run("star", "w", "--admin", api.url, "--token-file", str(tmp_path / "token"))
    assert (result.exit_code, api.asked) == (1, [])
    assert run("star", "w", "--admin", api.url, "--token-file", str(tmp_path / "none")).exit_code == 1


@pytest.mark.parametrize("answer", [(200, b"<html>"), (200, [1]), (500, b"oops"), (502, {"error": "bad"}), (302, None)])
def test_something_else_at_the_address_is_not_taken_for_the_proxy(
    api: Api, run: Run, answer: tuple[int, object]
) -> None:
    api.answers[PUT_STAR] = answer
    result = run("star", "w", "--admin", api.url)
    assert result.exit_code == 1
    assert "is not slotgate's admin API" in result.stderr


def test_the_address_for_clients_is_not_taken_for_the_admin_api(api: Api, run: Run) -> None:
    error = {"type": "not_found_error", "code": "unknown_upstream", "message": "slotgate: the path's first part …"}
    api.headers = {"X-Slotgate-Error": "unknown_upstream"}
    api.answers["GET /status"] = (404, {"type": "error", "error": error})
    result = run("status", "--admin", api.url)
    words = f"clients connect at {api.url}; the admin API is elsewhere, by default at http://127.0.0.1:8788"
    assert (result.exit_code, result.stderr) == (1, f"slotgate: {words}\n")


def test_a_wrong_address_is_told_with_every_form_that_one_may_have(run: Run) -> None:
    told = run("status", "--admin", "ftp://x").stderr
    assert "'ftp://x' is no address like http://host:port, host:port or unix:/path: " in told


@pytest.mark.parametrize("address", ["ftp://x", "x", "http://u:p@x", "unix:relative", "http://x:99999", ":8788"])
def test_an_address_that_cannot_be_is_wrong_usage(run: Run, address: str) -> None:
    assert run("status", "--admin", address).exit_code == 2


HOSTILE = "msg \x1b]0;PWN\x07\x1b[31mRED\u202e\x9b31m\x7f"
SHOWN = "msg \\x1b]0;PWN\\x07\\x1b[31mRED\\u202e\\x9b31m\\x7f"


def test_what_the_other_side_says_in_an_error_cannot_steer_the_terminal(api: Api, run: Run) -> None:
    api.answers[PUT_STAR] = (404, {"error": {"code": "x", "message": HOSTILE}})
    assert run("star", "w", "--admin", api.url).stderr == f"slotgate: {SHOWN}\n"
    as_json = run("star", "w", "--json", "--admin", api.url)
    assert as_json.stdout.strip().isprintable()
    assert json.loads(as_json.stdout)["error"]["message"] == HOSTILE
    api.answers["POST /reload"] = (422, {"error": {"code": "x", "message": ""}, "errors": [{"message": HOSTILE}]})
    result = run("reload", "--admin", api.url)
    assert (result.exit_code, result.stderr) == (78, f"{SHOWN}\n")


@pytest.mark.parametrize(
    "answer", [{"providers": [{"providerId": 5, "limit": "x"}]}, {"providers": 3}, {}, None, b"[" * 200_000, b"3"]
)
def test_an_answer_of_another_shape_is_an_error_and_no_fault_of_ours(api: Api, run: Run, answer: object) -> None:
    api.answers["GET /concurrency/status?all=1"] = (200, answer)
    api.answers["GET /status"] = (200, {})
    result = run("status", "--admin", api.url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not slotgate's admin API" in result.stderr


class Trickling(socketserver.BaseRequestHandler):
    """An answer that goes on for ever, a byte at a time; of all but /config its head does."""

    def handle(self) -> None:
        asked = self.request.recv(65536)
        if b" /config" in asked:
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            while not self.server.over.wait(0.02):  # type: ignore[attr-defined]
                self.request.sendall(b" ")
        except OSError:
            return


@pytest.fixture
def trickling(serving: Callable[[socketserver.BaseServer], None]) -> Iterator[str]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Trickling)
    server.daemon_threads = True
    server.over = threading.Event()  # type: ignore[attr-defined]
    serving(server)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.over.set()  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", [["limit", "x"], ["star", "w"], ["events"]])
def test_an_answer_that_trickles_without_end_is_none(
    run: Run, trickling: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_room, "PATIENCE_S", 0.3)
    monkeypatch.setattr("proxy.cli.following._SILENCE_S", 0.3)
    result = run(*command, "--admin", trickling)
    assert (result.exit_code, result.stderr) == (1, f"slotgate: the proxy at {trickling} does not answer\n")


def test_a_shell_is_offered_nothing_by_a_proxy_that_trickles(run: Run, trickling: str) -> None:
    begun_at = time.monotonic()
    asked = {"_SLOTGATE_COMPLETE": "bash_complete", "COMP_WORDS": "slotgate reclaim x ", "COMP_CWORD": "3"}
    result = run(**asked, SLOTGATE_ADMIN=trickling)
    assert (result.exit_code, result.output) == (0, "\n")
    assert time.monotonic() - begun_at < 20  # without a bound it never ends


@pytest.mark.parametrize("line", ["limit ", "star ", "reclaim x "])
def test_a_shell_is_offered_nothing_by_what_answers_oddly(api: Api, run: Run, line: str) -> None:
    for path in ("config", "concurrency/workspaces", "concurrency/slots/x"):
        api.answers[f"GET /{path}"] = (200, {"upstreams": [1], "workspaces": [1], "slots": 3})
    words = f"slotgate {line}"
    asked = {"_SLOTGATE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    result = run(**asked, SLOTGATE_ADMIN=api.url)
    assert (result.exit_code, result.output) == (0, "\n")
