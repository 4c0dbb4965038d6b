# What a unit of work may cost, as a file beside this one for each minor version of Python.

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from .figures import Figures

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
FILE = Path(__file__).with_name(f"ceilings-{VERSION}.json")
HOW = "python -m tests.cost --write"


def read() -> dict[str, Figures]:
    """By the work's name; nothing where nobody has counted with this Python."""
    if not FILE.exists():
        return {}
    return {name: Figures(**fields) for name, fields in json.loads(FILE.read_text()).items()}


def write(found: Mapping[str, Figures]) -> None:
    FILE.write_text(json.dumps({name: asdict(figures) for name, figures in found.items()}, indent=1) + "\n")
