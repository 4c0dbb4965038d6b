# The page at `/` and its files, without a build step.
#
# Rule 1: no inline script or style, nothing from elsewhere: the policy below holds even if a name is shown unescaped.
# Rule 2: what is served is read at import and found by its name in a table: no path from a request reaches a disk.

from functools import partial
from importlib.resources import files

from aiohttp import web

from proxy.service.runtime import Runtime
from proxy.web.admin.call import Answer, Call, CallError
from proxy.web.admin.reading import part
from proxy.web.admin.schemas import ref

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_MEDIA = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}


def _read() -> dict[str, tuple[bytes, str]]:
    """Content and media type of every file of the page, by name."""
    folder = files("proxy.web") / "pages"
    return {
        file.name: (file.read_bytes(), _MEDIA[ending])
        for file in folder.iterdir()
        if (ending := file.name.rpartition(".")[2]) in _MEDIA
    }


_FILES = _read()  # at import: there is no event loop yet to hold up


def served(content: bytes, media: str) -> web.Response:
    """The answer with one file of the page."""
    return web.Response(body=content, headers={"Content-Type": media, "Content-Security-Policy": POLICY})


async def _named(name: str, runtime: Runtime, request: web.Request) -> web.Response:
    return served(*_FILES[name])


async def get_file(runtime: Runtime, request: web.Request) -> web.Response:
    name = part(request, "file")
    if name not in _FILES:
        raise CallError(404, "not_found", f"the page has no file {name}")
    return served(*_FILES[name])


def _call(path: str, name: str) -> Call:
    return Call(
        method="GET",
        path=path,
        says=f"The page: {name}",
        handler=partial(_named, name),
        open=True,
        answers={200: Answer(says="The file", media=_FILES[name][1])},
    )


CALLS = (
    _call("/", "index.html"),
    _call("/page.css", "page.css"),
    Call(
        method="GET",
        path="/page/{file}",
        says="The page's other files",
        handler=get_file,
        open=True,
        answers={
            200: Answer(says="The file", media="text/javascript"),
            404: Answer(says="No such file", schema=ref("Error")),
        },
    ),
)
