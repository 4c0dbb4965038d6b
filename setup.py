# With SLOTGATE_COMPILED=1 in the environment, what every request and every chunk goes through is compiled by mypyc: the
# same sources, as C. It needs a C compiler and the headers of Python. Without it nothing is compiled or missing.
#
# Rule: a module means the same either way. `make test-compiled` runs the tests on the compiled ones, and tests/compiled
#       knows what the compiler would make something else of.

import os

from setuptools import setup

COMPILED = {
    "core": (
        "allowance cooldown gate lag limit model pause queue reading recovery refusals scheduler slots strikes turns "
        "waitlist"
    ),
    "ratelimits": "frames",
    "service": "admission clock counts events histogram quoting record telemetry",
    "web": "budget forward identity identity_body identity_headers judge outcome passage patience routing success turn",
    "wire": "body client exchange head head_reader head_writer idle pauses pool relay request tls_session upstream",
}
FILES = [f"proxy/{room}/{name}.py" for room, names in COMPILED.items() for name in names.split()]
# What other packages say is not at hand where this is built, and types are checked by `make lint`.
OPTIONS = ["--config-file=", "--ignore-missing-imports"]


def extensions():
    if os.environ.get("SLOTGATE_COMPILED") != "1":
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:  # who builds asks first what is needed
        return []
    return mypycify([*OPTIONS, *FILES], group_name="slotgate", opt_level="2", debug_level="0")


setup(
    setup_requires=["mypy[mypyc]>=2.4,<3"] if os.environ.get("SLOTGATE_COMPILED") == "1" else [],
    ext_modules=extensions(),
)
