# The rules and the configuration for Prometheus: accepted by promtool, and each alert fires when it should.

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from shipped import ALERTS, CONFIG, PROMETHEUS, RULES, alerts, promtool

WANTED = {  # what a person must be told about
    "SlotgateDown",
    "SlotgateLongWait",
    "SlotgateReducedForLong",
    "SlotgateSlotsReclaimed",
    "SlotgatePollsFailing",
    "SlotgateReloadFailing",
}


def test_promtool_accepts_the_rules() -> None:
    done = promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_configuration_and_finds_the_rules() -> None:
    done = promtool("check", "config", PROMETHEUS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 rule files found" in done.stdout


def test_the_lines_for_a_token_and_for_alertmanager_work_as_they_stand_there(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    (tmp_path / RULES.name).write_text(RULES.read_text())
    text = re.sub(
        r"^( *)# (authorization:|  +\w+:|alerting:|  +- )", r"\1\2", PROMETHEUS.read_text(), flags=re.MULTILINE
    )
    told = yaml.safe_load(text)
    assert told["scrape_configs"][0]["authorization"] == {"credentials_file": "/etc/slotgate/token"}
    assert told["alerting"]["alertmanagers"]
    (tmp_path / "prometheus.yaml").write_text(text.replace("/etc/slotgate/token", str(token)))
    done = promtool("check", "config", tmp_path / "prometheus.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_when_it_should_and_not_before() -> None:
    done = promtool("test", "rules", ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("before", "after"), [("> 300", "> 299"), ("for: 1h", "for: 30m"), ("<= 2", "<= 3")])
def test_a_rule_that_says_something_else_would_be_noticed(tmp_path: Path, before: str, after: str) -> None:
    text = RULES.read_text()
    assert text.count(before) == 1
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / RULES.name).write_text(text.replace(before, after))
    (tmp_path / "tests" / "monitoring").mkdir(parents=True)
    moved = tmp_path / "tests" / "monitoring" / ALERTS.name
    moved.write_text(ALERTS.read_text())
    assert promtool("test", "rules", moved).returncode == 1


def tried() -> list[dict[str, Any]]:
    return [each for test in yaml.safe_load(ALERTS.read_text())["tests"] for each in test["promql_expr_test"]]


@pytest.mark.parametrize("alert", sorted(alerts()))
def test_every_alert_is_tried_firing_and_silent(alert: str) -> None:
    expression = f'ALERTS{{alertname="{alert}", alertstate="firing"}}'
    fires = {bool(each.get("exp_samples")) for each in tried() if each["expr"] == expression}
    assert fires == {True, False}


def test_what_must_be_told_has_an_alert() -> None:
    assert set(alerts()) >= WANTED


@pytest.mark.parametrize("alert", sorted(alerts()))
def test_every_alert_says_what_it_means_and_how_bad_it_is(alert: str) -> None:
    rule = alerts()[alert]
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert set(rule["annotations"]) == {"summary", "description"}
    assert len(rule["annotations"]["summary"]) < 120
    assert re.search(r"`slotgate \w+|`systemctl|log \(|The log", rule["annotations"]["description"])


def test_what_the_comments_tell_to_start_is_there() -> None:
    for name in re.findall(r"prometheus[\w.-]*\.yaml", PROMETHEUS.read_text() + RULES.read_text()):
        assert (CONFIG / name).is_file()
