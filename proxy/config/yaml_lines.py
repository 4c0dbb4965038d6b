# YAML, read strictly: every key keeps its line, and what YAML silently turns into something else is an error.
#
# Rule 1: no aliases, merge keys or tags: a small file cannot unfold into a large one, and nothing is constructed.
# Rule 2: of YAML 1.1's many spellings only true/false, plain decimal numbers and null are taken; `on`, `1:30`, `0777`
#         and dates are refused with what YAML would have made of them.
# Rule 3: environment variables are put into values, never into keys, and never read as YAML.

import re
from collections.abc import Mapping

import yaml
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from .forms import BAD
from .report import FromEnv, Path, Report

_TAG = "tag:yaml.org,2002:"
_MAX_DEPTH = 12  # the deepest key of ours lies at 5
_MAX_CHARACTERS = 1024 * 1024  # a thousand upstreams take a tenth
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_DECIMAL = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}", re.ASCII)
_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")


def read_yaml(text: str, env: Mapping[str, str], report: Report) -> object:
    """The document as dicts, lists, strings, numbers, booleans and None; BAD where something was reported, for the
    whole when it is no YAML. The report learns the line of each key."""
    if len(text) > _MAX_CHARACTERS:
        report.add((), f"found {len(text)} characters", f"allowed: at most {_MAX_CHARACTERS}")
        return BAD
    try:
        loader = _Composer(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except ReaderError as error:
        _broken(report, text.count("\n", 0, error.position) + 1, f"character #x{error.character:04x}")
        return BAD
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        _broken(report, line, (error.problem or "no YAML"))
        return BAD
    return None if node is None else _Reader(report, env).value(node, ())


class _Composer(yaml.SafeLoader):
    """SafeLoader that refuses aliases and bounds the depth."""

    depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self.check_event(AliasEvent):
            raise self._refusal("an alias (*), which is not possible here")
        if self.depth == _MAX_DEPTH:
            raise self._refusal(f"more than {_MAX_DEPTH} levels")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def _refusal(self, problem: str) -> MarkedYAMLError:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return MarkedYAMLError(problem=problem, problem_mark=mark)


def _broken(report: Report, line: int | None, problem: str) -> None:
    allowed = "allowed: YAML, indented by spaces, with values that hold special characters in quotes"
    report.add((), f"cannot be read: {problem}", allowed, line=line)


def _meaning(written: str) -> str:
    try:
        return str(yaml.safe_load(written)).lower()
    except (ValueError, YAMLError):  # digits beyond Python's limit, the 45th of a month
        return "a number or a date"


class _Reader:
    def __init__(self, report: Report, env: Mapping[str, str]) -> None:
        self._report = report
        self._env = env

    def value(self, node: Node, at: Path) -> object:
        match node:
            case MappingNode(tag=tag) if tag == _TAG + "map":
                return self._mapping(node, at)
            case SequenceNode(tag=tag) if tag == _TAG + "seq":
                return [self._item(item, (*at, index)) for index, item in enumerate(node.value)]
            case ScalarNode():
                return self._scalar(node, at)
        return self._refuse(at, f"found the tag {node.tag}", "allowed: values without tags")

    def _item(self, node: Node, at: Path) -> object:
        self._place(at, node)
        return self.value(node, at)

    def _mapping(self, node: MappingNode, at: Path) -> object:
        read: dict[str, object] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            name = key.value if isinstance(key, ScalarNode) else "?"
            inside = (*at, name)
            if not isinstance(key, ScalarNode) or key.tag != _TAG + "str":
                found = "found a key that YAML does not read as text"
                self._report.add(inside, found, "allowed: a name, in quotes if need be", line=line)
            elif name in read:
                first = self._report.places[inside][1]
                self._report.add(inside, f"found the key twice, first in line {first}", "allowed: once", line=line)
            else:
                self._place(inside, key)
                read[name] = self.value(value, inside)
        return read

    def _scalar(self, node: ScalarNode, at: Path) -> object:
        written = node.value
        match node.tag.removeprefix(_TAG):
            case "str":
                return self._expanded(written, at)
            case "null" if written.lower() in ("", "~", "null"):
                return None
            case "bool" if written.lower() in ("true", "false"):
                return written.lower() == "true"
            case "int" if _INTEGER.fullmatch(written):
                return int(written)
            case "float" if _DECIMAL.fullmatch(written):
                return float(written)
            case "bool" | "int" | "float" | "timestamp" as kind:
                allowed = {"bool": "true or false, or ", "timestamp": ""}.get(kind, "a plain decimal number, or ")
                found = f"found {written[:80]} without quotes, which YAML reads as {_meaning(written)[:80]}"
                self._report.bent(at, found, f'allowed: {allowed}"{written[:80]}" in quotes if it is meant as text')
                return BAD
        return self._refuse(
            at, f"found a value with the tag {node.tag}", "allowed: values without tags, text in quotes"
        )

    def _expanded(self, written: str, at: Path) -> object:
        wrong = []

        def one(found: re.Match[str]) -> str:
            name = found[1]
            if found[0] == "$${":
                return "${"
            if name is None or name not in self._env:
                wrong.append(name)
                return ""
            return self._env[name]

        text = _VARIABLE.sub(one, written)
        for name in wrong:
            if name is None:
                self._refuse(
                    at, "found ${ without a name and }", "allowed: ${NAME} for an environment variable, $${ for ${"
                )
            else:
                self._refuse(at, f"found ${{{name}}}, which is not set", "allowed: environment variables that are set")
        if wrong:
            return BAD
        return text if text == written else FromEnv(text, written)

    def _refuse(self, at: Path, found: str, allowed: str) -> object:
        self._report.add(at, found, allowed)
        return BAD

    def _place(self, at: Path, node: Node) -> None:
        self._report.places[at] = (self._report.places[()][0], node.start_mark.line + 1)
