# The configuration: YAML to frozen settings, or to every error at once, each with its line.
#
# Rule 1: everything else of the proxy sees Settings, never YAML.
# Rule 2: reading opens files and asks no clock; nothing here knows asyncio.

from .address import Address, parse_address
from .counting import Counting
from .disk import find_file
from .loading import load
from .settings import (
    Admin,
    Counted,
    Identity,
    Log,
    Pause,
    Provider,
    Queue,
    Settings,
    Shutdown,
    Tls,
    Upstream,
    Usage,
)
from .showing import diff, effective
from .units import parse_duration, parse_size, show_duration, show_size
from .url import BaseUrl, parse_url
from .values import State

__all__ = [
    "Address",
    "Admin",
    "BaseUrl",
    "Counted",
    "Counting",
    "Identity",
    "Log",
    "Pause",
    "Provider",
    "Queue",
    "Settings",
    "Shutdown",
    "State",
    "Tls",
    "Upstream",
    "Usage",
    "diff",
    "effective",
    "find_file",
    "load",
    "parse_address",
    "parse_duration",
    "parse_size",
    "parse_url",
    "show_duration",
    "show_size",
]
