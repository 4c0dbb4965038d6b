"""Where nothing can be compiled, what is installed is the sources (setup.py)."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SETUP = """
import json, runpy, setuptools
setuptools.setup = lambda **asked: print(json.dumps([len(asked["ext_modules"]), asked["setup_requires"]]))
runpy.run_path("setup.py")
"""
BUILD = """
import runpy, setuptools
setuptools.setup = lambda **_: None
asked = runpy.run_path("setup.py")
command = asked["MayFail"](setuptools.Distribution({"ext_modules": [setuptools.Extension("broken", ["broken.c"])]}))
command.build_lib = command.build_temp = DIRECTORY
command.ensure_finalized()
command.run()
print(command.extensions, command.get_outputs())
"""


def _said(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=TOP,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("compiler", ["/bin/false", "/no/such/compiler", "cc -nostdinc"])
def test_without_compiler_or_headers_nothing_is_compiled_and_nothing_needed_for_it(compiler):
    assert json.loads(_said(SETUP, SLOTGATE_COMPILED="auto", CC=compiler)) == [0, []]


def test_nothing_is_compiled_for_who_says_so():
    assert json.loads(_said(SETUP, SLOTGATE_COMPILED="0")) == [0, []]


def test_who_says_nothing_gets_what_there_is_a_compiler_for():
    assert json.loads(_said(SETUP, SLOTGATE_COMPILED="", CC="/bin/false")) == [0, []]


def test_nothing_compiled_is_put_beside_sources_that_somebody_edits(tmp_path):
    code = BUILD.replace("DIRECTORY", repr(str(tmp_path))).replace(
        "command.run()", "command.editable_mode = True\ncommand.run()"
    )
    assert _said(code, SLOTGATE_COMPILED="auto") == "[] []"


def test_what_cannot_be_built_is_left_out_whole(tmp_path):
    half = tmp_path / f"broken{sysconfig.get_config_var('EXT_SUFFIX')}"
    half.touch()
    code = BUILD.replace("DIRECTORY", repr(str(tmp_path)))
    assert _said(code, SLOTGATE_COMPILED="auto", CC="/bin/false") == "[] []"
    assert not half.exists()


def test_where_mypy_cannot_be_had_nothing_is_compiled():
    without = "import sys\nsys.modules['mypyc'] = None\n"
    assert json.loads(_said(without + SETUP, SLOTGATE_COMPILED="auto"))[0] == 0
