# The page's files as they are served; what the page does is the browser tests' matter.

import re

from admin_rig import Rig


async def test_page_and_its_files_are_served_with_their_types(rig: Rig) -> None:
    for path, media in (
        ("/", "text/html; charset=utf-8"),
        ("/page.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
    ):
        reply = await rig.get(path)
        assert (reply.status, reply.headers["Content-Type"]) == (200, media)
        assert reply.body


async def test_page_needs_nothing_inline_and_nothing_from_elsewhere(rig: Rig) -> None:
    """Otherwise its own policy would break it."""
    page = (await rig.get("/")).body.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    assert not re.search(r"<script(?![^>]*\ssrc=)", page)
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sorted(named) == ["data:,", "page.css", "page.js"]
    script = (await rig.get("/page.js")).body.decode()
    assert not re.search(r"innerHTML|insertAdjacentHTML|eval\(|https?://", script)


async def test_policy_allows_own_files_alone(rig: Rig) -> None:
    policy = dict(
        part.strip().split(" ", 1) for part in (await rig.get("/")).headers["Content-Security-Policy"].split(";")
    )
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
