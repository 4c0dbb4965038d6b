# The unit files: accepted by systemd without a word, and in step with the settings' defaults.

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from proxy.config import Admin, Settings, Shutdown, parse_duration

UNITS = Path(__file__).parents[2] / "systemd"
FILES = ("slotgate.service", "slotgate.socket", "slotgate-admin.socket")
ANALYZE = shutil.which("systemd-analyze")

needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def verify(folder: Path) -> str:
    done = subprocess.run(
        [str(ANALYZE), "verify", *(str(folder / name) for name in FILES)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def version() -> int:
    shown = subprocess.run([str(ANALYZE), "--version"], capture_output=True, text=True, check=True).stdout
    return int(shown.split()[1])


def setting(name: str, key: str) -> str:
    found = re.findall(rf"^{key}=(.*)$", (UNITS / name).read_text(), re.MULTILINE)
    assert len(found) == 1, f"{key} stands once in {name}"
    return str(found[0])


@needs_systemd
def test_systemd_accepts_the_units_without_a_word() -> None:
    assert verify(UNITS) == ""


@needs_systemd
def test_a_unit_with_a_misspelt_setting_would_be_noticed(tmp_path: Path) -> None:
    for name in FILES:
        shutil.copy(UNITS / name, tmp_path)
    broken = tmp_path / "slotgate.service"
    broken.write_text(broken.read_text().replace("WatchdogSec=", "WatchdogSecs="))
    assert "WatchdogSecs" in verify(tmp_path)


@needs_systemd
def test_the_drop_in_for_newer_versions_is_accepted_by_them(tmp_path: Path) -> None:
    if version() < 253:
        pytest.skip("this systemd is older than Type=notify-reload")
    for name in FILES:
        shutil.copy(UNITS / name, tmp_path)
    (tmp_path / "slotgate.service.d").mkdir()
    shutil.copy(UNITS / "notify-reload.conf", tmp_path / "slotgate.service.d")
    assert verify(tmp_path) == ""


def test_the_sockets_listen_where_the_defaults_do() -> None:
    assert setting("slotgate.socket", "ListenStream") == str(Settings().listen[0])
    assert setting("slotgate-admin.socket", "ListenStream") == str(Admin().listen)


def test_systemd_waits_longer_than_the_default_grace() -> None:
    assert parse_duration(setting("slotgate.service", "TimeoutStopSec")) > Shutdown().grace_s


def test_a_wrong_configuration_does_not_loop() -> None:
    assert setting("slotgate.service", "Restart") == "on-failure"
    assert setting("slotgate.service", "RestartPreventExitStatus") == "78"
