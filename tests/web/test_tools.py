# The README has the same line for each tool as `slotgate env`.

from pathlib import Path

import pytest

from proxy.web.tools import TOOLS

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.parametrize("name", TOOLS)
def test_the_readme_points_each_tool_the_way_that_env_does(name: str) -> None:
    tool = TOOLS[name]
    line = tool.pointed("http://127.0.0.1:8787")
    assert any(line in row and tool.title.removesuffix("SDK").strip() in row for row in README.splitlines())
