# What is known of clients that wait: the page for people says the same as the table that the proxy acts on.

from pathlib import Path

import pytest

from proxy.web.agents import AGENTS, Interim, known

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
ROWS = {cells[0]: cells for line in PAGE.splitlines() if len(cells := line.strip("| ").split(" | ")) == 8}


def told(agent):
    """Name, seen, known by, waits and 102, as the page has them."""
    marks = [f"`{mark.decode()}`" for mark in agent.marks]
    runtime = [] if agent.runtime is None else [f"`x-stainless-runtime: {agent.runtime.decode()}`"]
    waits = "?" if agent.limit_s is None else f"{agent.limit_s:g} s"
    return [agent.name, agent.seen, ", ".join(marks + runtime), waits, agent.interim.value]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_page_says_what_the_table_says(agent):
    assert ROWS[agent.name][:5] == told(agent)


def test_the_page_says_of_no_other_client_that_a_102_does_anything():
    words = {interim.value for interim in Interim}
    assert {name for name, cells in ROWS.items() if cells[4] in words} == {agent.name for agent in AGENTS}


def test_each_row_of_the_table_can_be_met():
    """None is hidden behind those in front of it."""
    for agent in AGENTS:
        assert known(b" ".join(agent.marks), agent.runtime) is agent


def test_who_needs_them_has_a_limit():
    assert all(agent.limit_s for agent in AGENTS if agent.interim is Interim.NEEDED)
