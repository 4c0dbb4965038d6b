# The dashboard for Grafana: what an import of it would trip over.

import re
from collections import Counter

import pytest
from shipped import DASHBOARD, dashboard, overlaps, panels

GRID = 24  # columns
GIVEN = {"__rate_interval", "__interval"}  # by Grafana


def test_it_can_be_imported_into_grafana_10() -> None:
    shown = dashboard()
    assert shown["schemaVersion"] == 38  # 10.0's; later ones take it over
    assert (shown["uid"], shown["title"], shown["id"]) == ("slotgate", "Slotgate", None)


def test_every_panel_has_a_number_of_its_own_a_title_and_says_what_it_shows() -> None:
    numbers = Counter(panel["id"] for panel in dashboard()["panels"])
    assert set(numbers.values()) == {1}
    titles = Counter(panel["title"] for panel in panels())
    assert set(titles.values()) == {1}
    assert all(len(panel["description"]) > 20 for panel in panels())


def test_the_panels_are_inside_the_grid_and_cover_nothing() -> None:
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] >= 0
        assert place["w"] >= 1
        assert place["h"] >= 1
        assert place["x"] + place["w"] <= GRID, panel["title"]
    assert list(overlaps()) == []


def test_everything_is_asked_of_the_chosen_prometheus_proxy_and_providers() -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels():
        assert panel["datasource"] == chosen
        names = [target["refId"] for target in panel["targets"]]
        assert len(names) == len(set(names))
        for target in panel["targets"]:
            assert target["datasource"] == chosen
            selectors = re.findall(r"slotgate_\w+(\{[^}]*\})?", target["expr"])
            assert selectors
            assert all('instance="$instance"' in selector for selector in selectors), target["expr"]


def test_every_variable_that_is_used_is_there_and_every_one_that_is_there_is_used() -> None:
    used = set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text())) - GIVEN - {"__all"}
    assert used == {variable["name"] for variable in dashboard()["templating"]["list"]}


@pytest.mark.parametrize("part", ["held", "cooling", "limit"])
def test_a_provider_s_slots_are_drawn_against_its_limit_for_each_provider(part: str) -> None:
    [panel] = [panel for panel in panels() if panel.get("repeat") == "provider"]
    assert part in [target["legendFormat"] for target in panel["targets"]]
