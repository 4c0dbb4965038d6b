# What every request and every chunk goes through can be compiled by mypyc: the same sources, as C.
#
# Rule 1: a module means the same either way. `make test-compiled` runs the tests on the compiled ones, and
#         tests/compiled knows what the compiler would make something else of.
# Rule 2: where a C compiler and the headers of Python are, they are compiled; where these are not, or fail, the sources
#         alone are installed. SLOTGATE_COMPILED=1 in the environment compiles or fails, =0 compiles nothing.
# Rule 3: an editable installation is of sources: what lies compiled beside them is run in their place, changed or not.

import os
import tempfile
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

UNSAID = "auto"  # what SLOTGATE_COMPILED is where nobody sets it
COMPILED = {
    "core": (
        "allowance cooldown gate lag limit model pause queue reading recovery refusals scheduler slots strikes turns "
        "waitlist watchdog"
    ),
    "ratelimits": "frames",
    "service": "admission clock counts events histogram local_admission quoting record shared_admission telemetry",
    "web": (
        "budget forward identity identity_body identity_fingerprint identity_headers identity_json judge outcome "
        "passage patience routing success turn"
    ),
    "wire": "body client exchange head head_reader head_writer idle pauses pool relay request tls_session upstream",
}
FILES = [f"proxy/{room}/{name}.py" for room, names in COMPILED.items() for name in names.split()]
# What other packages say is not at hand where this is built, and types are checked by `make lint`.
OPTIONS = ["--config-file=", "--ignore-missing-imports"]
WISH = os.environ.get("SLOTGATE_COMPILED") or UNSAID
FAILURES = (BaseError, CCompilerError)


class MayFail(build_ext):
    """Leaves nothing of what cannot be built: half of it would not start."""

    def run(self) -> None:
        if self.editable_mode:
            self.extensions = self.distribution.ext_modules = []
        try:
            super().run()
        except FAILURES as error:
            self.warn(f"not compiled: {error}")
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = self.distribution.ext_modules = []


def can_compile() -> bool:
    """Whether there are a C compiler and the headers of Python, by trying."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "tried.c")
        source.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_tried(void) { return NULL; }\n")
        trial = build_ext(Distribution({"ext_modules": [Extension("tried", [str(source)])]}))
        trial.build_lib = trial.build_temp = directory
        trial.ensure_finalized()
        try:
            trial.run()
        except FAILURES:
            return False
    return True


def extensions() -> list[Extension]:
    try:
        from mypyc.build import mypycify
    except ImportError:  # who builds asks first what is needed
        return []
    try:
        return mypycify([*OPTIONS, *FILES], group_name="slotgate", opt_level="2", debug_level="0")
    except SystemExit:  # this mypy reads the sources differently
        if WISH == "1":
            raise
        return []


compiles = WISH == "1" or (WISH == "auto" and can_compile())
setup(
    setup_requires=["mypy[mypyc]>=2.4,<3"] if compiles else [],
    ext_modules=extensions() if compiles else [],
    cmdclass={"build_ext": MayFail} if WISH == "auto" else {},
)
