# The names that a test makes up, and the addresses that they have at the moment.

import socket
import threading
from collections.abc import Mapping
from typing import Any

_ask = socket.getaddrinfo  # the system's own


class Names:
    """Stands in for the system's look-up: a name of `table` has these addresses, in their order; any other that does
    not end in `.test` is the system's business. `asked` are the look-ups of made-up names; while `answering` is clear,
    they wait."""

    def __init__(self, table: Mapping[str, list[str]]) -> None:
        self.table = dict(table)
        self.asked: list[str] = []
        self.answering = threading.Event()
        self.answering.set()
        self._lock = threading.Lock()  # each look-up has a thread of its own

    def __repr__(self) -> str:
        return f"<Names {self.table}>"

    def getaddrinfo(self, host: Any, port: Any, *args: Any, **options: Any) -> list[Any]:
        name = str(host).rstrip(".")
        if not name.endswith(".test"):
            return _ask(host, port, *args, **options)
        if options.get("flags", 0) & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not a literal address")
        with self._lock:
            self.asked.append(name)
        self.answering.wait(30)
        found = [info for address in self.table.get(name, ()) for info in _ask(address, port, *args, **options)]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return found
