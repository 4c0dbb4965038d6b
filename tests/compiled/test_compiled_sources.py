"""What mypyc would make something else of than Python does, in the modules that are compiled (setup.py)."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


def _compiled() -> list[str]:
    """The files that setup.py compiles, by its own word."""
    say = "import runpy, setuptools; setuptools.setup = lambda **_: None; print(*runpy.run_path('setup.py')['FILES'])"
    nothing = {**os.environ, "SLOTGATE_COMPILED": "0"}
    done = subprocess.run([sys.executable, "-c", say], cwd=TOP, env=nothing, capture_output=True, text=True, check=True)
    return done.stdout.split()


FILES = _compiled()


def _is_protocol(annotation: str, module: object) -> bool:
    kind = getattr(module, annotation, None)
    return inspect.isclass(kind) and getattr(kind, "_is_protocol", False)


@pytest.mark.parametrize("file", FILES)
def test_no_class_has_a_default_that_the_compiler_leaves_out(file):
    """A class's `x: SomeProtocol | None = None` is left without a value; `__init__` has to give it one."""
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    for found in ast.walk(ast.parse((TOP / file).read_text())):
        if not isinstance(found, ast.ClassDef):
            continue
        for line in found.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.value, ast.Constant) and line.value.value is None:
                parts = ast.unparse(line.annotation).split(" | ")
                assert not any(_is_protocol(part, module) for part in parts), ast.unparse(line)


@pytest.mark.parametrize("file", FILES)
def test_numbers_are_not_compared_by_identity(file):
    """A compiled number is no object: `is` says nothing about two of them."""
    for found in ast.walk(ast.parse((TOP / file).read_text())):
        if isinstance(found, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in found.ops):
            sides = [found.left, *found.comparators]
            assert not any(isinstance(side, ast.Subscript) for side in sides), ast.unparse(found)


def test_list_is_not_empty_and_every_file_is_there():
    assert len(FILES) > 30
    assert all((TOP / file).is_file() for file in FILES)
