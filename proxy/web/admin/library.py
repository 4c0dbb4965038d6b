# The plotting library of the page, from the installed package: Chart.js with the date adapter, as one script.
#
# Rule 1: nothing of it is copied into this code base, and an open page needs nothing from elsewhere: the package
#         `chartkick` (MIT) ships the script, whose head carries the notices of what is in it: Chart.js, @kurkle/color,
#         chartjs-adapter-date-fns and date-fns, all MIT. Chartkick's own script is not used.
# Rule 2: a megabyte is read and packed once, beside the event loop, and only when somebody opens the plots.
# Rule 3: where the script is missing the rest goes on: the call says so, and the page says that there are no plots.

import asyncio
import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from aiohttp import web

from proxy.service.runtime import Runtime
from proxy.web.admin.call import Answer, Call, CallError
from proxy.web.admin.schemas import ref

_PACKAGE, _SCRIPT = "chartkick", "django/static/chartkick/Chart.bundle.js"  # where 1.2 has it
_MEDIA = "text/javascript; charset=utf-8"
_LEVEL = 6  # of gzip: 1 MB → 170 kB in 30 ms; level 9 takes three times as long for 1 % less


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The script as it travels. `tag` changes with its bytes."""

    plain: bytes
    packed: bytes
    tag: str


@cache
def installed() -> Script:
    """The script of the installed package; OSError or ImportError where it is not there. Reads a file: it blocks."""
    plain = (files(_PACKAGE) / _SCRIPT).read_bytes()
    return Script(plain=plain, packed=gzip.compress(plain, _LEVEL, mtime=0), tag=hashlib.sha256(plain).hexdigest()[:16])


async def serve(read: Callable[[], Script], runtime: Runtime, request: web.Request) -> web.Response:
    """The script, packed for whom takes that; 304 for whom has it; 404 that says what to install."""
    try:
        script = await asyncio.to_thread(read)
    except (OSError, ImportError) as error:
        words = f"the plotting library is not there ({error}); it comes with: pip install 'chartkick>=1.2,<2'"
        raise CallError(404, "not_found", words) from error
    # no-cache: kept, and asked for again each time. After an update nobody plots with the old one.
    headers = {"Cache-Control": "no-cache", "ETag": f'"{script.tag}"', "Vary": "Accept-Encoding"}
    if any(tag.value in (script.tag, "*") for tag in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    headers["Content-Type"] = _MEDIA
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=script.plain, headers=headers)
    return web.Response(body=script.packed, headers={**headers, "Content-Encoding": "gzip"})


CALLS = (
    Call(
        method="GET",
        path="/page/chart.js",
        says="The page: the plotting library, Chart.js",
        handler=partial(serve, installed),
        open=True,
        answers={
            200: Answer(says="The file", media=_MEDIA),
            304: Answer(says="The file is the one that If-None-Match names"),
            404: Answer(says="The library is not installed", schema=ref("Error")),
        },
    ),
)
