# The files for Prometheus and Grafana that stand in config/, and what is in them.

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
CONFIG = HERE.parents[1] / "config"
RULES = CONFIG / "prometheus-rules.yaml"
PROMETHEUS = CONFIG / "prometheus.yaml"
DASHBOARD = CONFIG / "grafana-dashboard.json"
ALERTS = HERE / "alerts.yaml"
_METRIC = re.compile(r"(?<![\w:])slotgate_\w+")  # not the name of what a rule records


def installed(command: str) -> str:
    """The command's path. Without it the test ends: skipped at a desk, failed where every test must run."""
    found = shutil.which(command)
    if found is None:
        if os.environ.get("EVERY_TEST"):
            pytest.fail(f"{command} is missing; make test installs it")
        pytest.skip(f"{command} is not installed")
    return found


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([installed("promtool"), *map(str, arguments)], capture_output=True, text=True, check=False)


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return found


def panels() -> list[dict[str, Any]]:
    """Those that show something: no rows."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def shown() -> list[str]:
    """Every expression of the dashboard."""
    noted = [annotation["expr"] for annotation in dashboard()["annotations"]["list"]]
    return [target["expr"] for panel in panels() for target in panel["targets"]] + noted


def metrics(expressions: list[str]) -> set[str]:
    """The names of ours that stand in them."""
    return {name for expression in expressions for name in _METRIC.findall(expression)}


def overlaps() -> Iterator[tuple[str, str]]:
    """Titles of panels that cover each other."""
    placed = [(panel["title"], panel["gridPos"]) for panel in dashboard()["panels"]]
    for number, (title, a) in enumerate(placed):
        for other, b in placed[:number]:
            beside = a["x"] >= b["x"] + b["w"] or b["x"] >= a["x"] + a["w"]
            above = a["y"] >= b["y"] + b["h"] or b["y"] >= a["y"] + a["h"]
            if not (beside or above):
                yield title, other
