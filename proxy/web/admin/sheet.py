# Points as a table for spreadsheets and statistics: CSV as RFC 4180 has it.
#
# Rule: numbers and times alone, so that no cell can be a formula; what a client or a file called a provider is in the
#       file's name only, and there without anything that is not plain.

import csv
import io
import re
from collections.abc import Mapping, Sequence

from aiohttp import web

from proxy.service.quoting import iso

MEDIA = "text/csv; charset=utf-8; header=present"  # RFC 4180, 3
NAME_MAX = 100  # characters of a provider in the name of a file
COLUMNS = (
    *("at", "time", "limit", "inFlightMax", "inFlightMean", "queuedMax", "queuedMean", "oldestWaitMsMax"),
    *("granted", "completed", "waitMsP50", "waitMsP95", "firstByteMsP50", "firstByteMsP95"),
    *("rateLimited", "reduced", "pausedMs", "partial"),
)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def download(points: Sequence[Mapping[str, object]], provider_id: str) -> web.Response:
    """The answer that a browser saves as a file."""
    name = f"slotgate-{_NOT_PLAIN.sub('_', provider_id)[:NAME_MAX]}.csv"
    headers = {"Content-Type": MEDIA, "Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=_table(points).encode(), headers=headers)


def _table(points: Sequence[Mapping[str, object]]) -> str:
    """An absent value is an empty cell; `partial` is true or empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="")  # its line ends are CR LF
    writer.writeheader()
    for point in points:
        at = point["at"]
        assert isinstance(at, int)
        writer.writerow({**point, "time": iso(at)} | ({"partial": "true"} if point.get("partial") else {}))
    return text.getvalue()
