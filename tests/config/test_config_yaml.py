import pytest

from proxy.config.forms import BAD
from proxy.config.report import Report
from proxy.config.yaml_lines import read_yaml


def problems(text: str, **env: str) -> list[str]:
    report = Report("f")
    read_yaml(text, env, report)
    return [str(problem) for problem in report.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("a: 1\nb: -2\nc: 0", {"a": 1, "b": -2, "c": 0}),
        ("a: true\nb: False\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: 127.0.0.1:8787\nb: '[::1]:80'", {"a": "127.0.0.1:8787", "b": "[::1]:80"}),
        ("a: 'off'\nb: \"1:30\"\nc: '0777'", {"a": "off", "b": "1:30", "c": "0777"}),
        ("a: [x, 1.5]", {"a": ["x", 1.5]}),
        ("'on': x", {"on": "x"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("a: &anchor 1", {"a": 1}),
    ],
)
def test_plain_yaml_is_read(text: str, value: object) -> None:
    report = Report("f")
    assert read_yaml(text, {}, report) == value
    assert not report.problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a: on",
            'f:1: a: found on without quotes, which YAML reads as true; allowed: true or false, or "on" in quotes',
        ),
        ("a: off", "which YAML reads as false"),
        ("a: Yes", "which YAML reads as true"),
        ("a:\n  b: NO", "f:2: a.b: found NO"),
        ("a: 1:30", "found 1:30 without quotes, which YAML reads as 90"),
        ("a: 1:30.5", "which YAML reads as 90.5"),
        ("a: 0777", "which YAML reads as 511"),
        ("a: 0x10", "which YAML reads as 16"),
        ("a: 0b11", "which YAML reads as 3"),
        ("a: 1_000", "which YAML reads as 1000"),
        ("a: .inf", "which YAML reads as inf"),
        ("a: .nan", "which YAML reads as nan"),
        ("a: 2024-01-02", 'which YAML reads as 2024-01-02; allowed: "2024-01-02" in quotes'),
        ("a: 2024-13-45", "which YAML reads as a number or a date"),
        ("a: " + "9" * 5000, "which YAML reads as"),
        ("a: =", "found a value with the tag"),
        ("a: !!python/object/apply:os.system [x]", "found the tag"),
        ("a: !secret x", "found a value with the tag !secret"),
        ("a: !!null x", "found a value with the tag"),
        ("a: !!set {x}", "found the tag"),
        ("a: 1\nb: 2\na: 3", "f:3: a: found the key twice, first in line 1"),
        ("on: 1", "f:1: on: found a key that YAML does not read as text"),
        ("1: 1", "f:1: 1: found a key"),
        ("? [a]\n: 1", "found a key"),
        ("<<: {a: 1}", "found a key"),
        ("a: &x {b: 1}\nc: *x", "f:2: cannot be read: an alias"),
        ("a:\n\t- x", "f:2: cannot be read: found character '\\t'"),
        ("a: [1, 2", "f:1: cannot be read: expected"),
        ("a: 1\n b: 2", "f:2: cannot be read: mapping values are not allowed here"),
        ("a: 1\n---\nb: 2", "f:2: cannot be read: but found another document"),
        ("a: 'x", "f:1: cannot be read: found unexpected end of stream"),
        ("a: 1\nb: \x07", "f:2: cannot be read: character #x0007"),
        ("[" * 500, "f:1: cannot be read: more than 12 levels"),
        ("a: " + "x" * 2**20, "f: found 1048579 characters"),
    ],
)
def test_what_yaml_would_bend_or_hide_is_an_error_with_its_line(text: str, problem: str) -> None:
    found = problems(text)
    assert len(found) == 1
    assert problem in found[0]


def test_every_trap_is_reported_not_only_the_first() -> None:
    assert len(problems("a: on\nb: [off, 1:30]\nc: {d: 0777}")) == 4


def test_a_refused_value_leaves_its_key_marked() -> None:
    assert read_yaml("a: on\nb: 1", {}, Report("f")) == {"a": BAD, "b": 1}


def test_environment_variables_are_put_into_values() -> None:
    text = "a: ${A}\nb: 'x-${A}-${B_1}'\nc: $${A}\nd: $A\ne: ['${A}']"
    value = read_yaml(text, {"A": "off", "B_1": ""}, Report("f"))
    assert value == {"a": "off", "b": "x-off-", "c": "${A}", "d": "$A", "e": ["off"]}


def test_an_unset_variable_and_a_broken_one_are_errors() -> None:
    found = problems("a: ${NO}\nb: ${A-x}\nc: ${\nd: ${A}${NO}", A="1")
    assert [line.split(": ")[0] for line in found] == ["f:1", "f:2", "f:3", "f:4"]
    assert "a: found ${NO}, which is not set" in found[0]
    assert "found ${ without a name and }" in found[1]
