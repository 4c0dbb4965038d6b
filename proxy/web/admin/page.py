# The page at `/` and its files, without a build step.
#
# Rule: no inline script or style, nothing from elsewhere: the policy below holds even if a name is shown unescaped.

from functools import partial
from importlib.resources import files

from aiohttp import web

from proxy.service.runtime import Runtime
from proxy.web.admin.call import Answer, Call

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

# Path, file, media type.
_FILES = (
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/page.css", "page.css", "text/css; charset=utf-8"),
    ("/page.js", "page.js", "text/javascript; charset=utf-8"),
)


async def _serve(content: bytes, media: str, runtime: Runtime, request: web.Request) -> web.Response:
    return web.Response(body=content, headers={"Content-Type": media, "Content-Security-Policy": POLICY})


def _call(path: str, name: str, media: str) -> Call:
    content = (files("proxy.web") / "pages" / name).read_bytes()  # at import: there is no event loop yet to hold up
    return Call(
        method="GET",
        path=path,
        says=f"The page: {name}",
        handler=partial(_serve, content, media),
        open=True,
        answers={200: Answer(says="The file", media=media)},
    )


CALLS = tuple(_call(*file) for file in _FILES)
