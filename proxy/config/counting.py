# Which requests take a slot (spec §6.1): those that make the provider generate tokens.
#
# Rule 1: this is asked for every request, before its body is read: method and path are all it may look at.
# Rule 2: WebSocket upgrades are counted elsewhere, whatever their method.

import re

from .settings import Upstream


class Counting:
    """The rules of one upstream. An exception that ends in a slash stands for whole segments anywhere in the path; any
    other one for the path's end."""

    __slots__ = ("_excepted", "_methods")

    def __init__(self, upstream: Upstream) -> None:
        self._methods = upstream.counted.methods
        self._excepted = re.compile("|".join(map(_pattern, upstream.counted.except_)) or "(?!)")

    def takes_slot(self, method: str, path: str) -> bool:
        """Whether the request does. `path` is the raw one as sent upstream, without the query."""
        return method in self._methods and self._excepted.search(path) is None

    def __repr__(self) -> str:
        return f"<Counting {sorted(self._methods)} but {self._excepted.pattern}>"


def _pattern(rule: str) -> str:
    if rule.endswith("/"):  # "/v1/files" lies under "/files/" too
        return re.escape(rule[:-1]) + r"(?:/|\Z)"
    return re.escape(rule) + r"\Z"
