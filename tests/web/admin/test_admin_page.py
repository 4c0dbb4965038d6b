# The page's files as they are served; what the page does is the browser tests' matter.

import re
from importlib.resources import files

import pytest
from admin_rig import Rig

NAMES = sorted(file.name for file in (files("proxy.web") / "pages").iterdir())
SCRIPTS = [name for name in NAMES if name.endswith(".js")]
SHEETS = [name for name in NAMES if name.endswith(".css")]
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}


async def page(rig: Rig) -> str:
    return (await rig.get("/")).body.decode()


@pytest.mark.parametrize("path", ["/", "/page.css", *(f"/page/{name}" for name in NAMES)])
async def test_page_and_its_files_are_served_with_their_types(rig: Rig, path: str) -> None:
    reply = await rig.get(path)
    name = path.rpartition("/")[2] or "index.html"
    assert (reply.status, reply.headers["Content-Type"]) == (200, TYPES[name.rpartition(".")[2]])
    assert reply.body == (files("proxy.web") / "pages" / name).read_bytes()
    assert reply.headers["Cache-Control"] == "no-store", "a page of before must not talk to a proxy of now"


@pytest.mark.parametrize("path", ["/page/nothing.js", "/page/page.py", "/page/..%2f__init__.py", "/page/..."])
async def test_no_other_file_is_served(rig: Rig, path: str) -> None:
    reply = await rig.get(path)
    assert (reply.status, reply.json["error"]["code"]) == (404, "not_found")


async def test_page_needs_nothing_inline(rig: Rig) -> None:
    """Otherwise its own policy would break it."""
    text = await page(rig)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)


async def test_page_names_files_that_are_there(rig: Rig) -> None:
    named = re.findall(r'(?:src|href)="([^"#]+)"', await page(rig))
    own = [name for name in named if not name.startswith("data:")]
    assert {"page.css", "page/theme.js"} <= set(own)
    for name in own:
        assert (await rig.get(f"/{name}")).status == 200, name


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_imports_what_is_there_and_makes_no_markup_of_text(name: str) -> None:
    script = (files("proxy.web") / "pages" / name).read_text("utf-8")
    assert set(re.findall(r"""(?:from|import\()\s*["']\./([^"']+)["']""", script)) <= set(NAMES) | {"chart.js"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", re.sub(r"//[^\n]*", "", script))


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_takes_nothing_from_elsewhere(name: str) -> None:
    sheet = (files("proxy.web") / "pages" / name).read_text("utf-8")
    assert not re.search(r"@import|https?:", sheet)


async def test_policy_allows_own_files_alone(rig: Rig) -> None:
    for path in ("/", "/page.css", "/page/theme.js"):
        policy = dict(
            part.strip().split(" ", 1) for part in (await rig.get(path)).headers["Content-Security-Policy"].split(";")
        )
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' data:",
            "connect-src": "'self'",
            "frame-ancestors": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
