# Names come from clients and may be anything: they are shown as text, and nothing that they hold is done.

from urllib.parse import quote

from blackbox.rig import Rig
from onscreen.traffic import hold_slots
from onscreen.window import Window
from playwright.async_api import expect

MARKUP = "<img src=x onerror=alert(1)><b>bold</b>"
HOSTILE = (
    MARKUP,
    "\"'><script>alert(1)</script>&lt;",
    "${alert(1)} {{alert(1)}} javascript:alert(1)",
    "w" * 128,
    "👩‍💻 проект 項目",
    "__proto__",
)


async def test_hostile_name_is_shown_as_text(rig: Rig, window: Window) -> None:
    ran: list[str] = []
    window.page.on("dialog", lambda dialog: ran.append(dialog.message))
    await hold_slots(rig)
    for name in HOSTILE:
        client = await rig.ask("a", target=f"/~{quote(name, safe='')}/up/v1/messages", conversation="victim")
        await rig.queued(1)
        await shown_as_text(rig, window, name)
        client.close()
        await rig.queued(0)
        await expect(window.card(rig.provider).waiters).to_have_count(0)
    assert ran == []


async def shown_as_text(rig: Rig, window: Window, name: str) -> None:
    row = window.card(rig.provider).waiters.first
    await expect(row).to_contain_text("victim")
    assert name in (await row.text_content() or "")
    assert await window.locate('img[src="x"], b, script:not([src])').count() == 0
    assert await window.overflow() <= 0
    await row.locator('[data-action="drop"]').click()
    await expect(window.dialog).to_contain_text(name)
    await window.dialog.locator('[data-action="cancel"]').click()
    await row.locator('[data-action="star"]').click()
    await expect(row.locator('[data-action="unstar"]')).to_be_visible()
    workspaces = (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]
    assert name in [each["workspaceId"] for each in workspaces if each["starred"]]


async def test_signs_that_nobody_sees_turn_nothing_round(rig: Rig, window: Window) -> None:
    """With U+202E a name is read from its end, and whoever is asked about one may be asked about another."""
    card = window.card(rig.provider)
    workspace = quote("a\u2066b\u200b abc\u202egpj.exe")
    await rig.ask("a", target=f"/~{workspace}/up/v1/messages")
    await expect(card.slots.first).to_contain_text("gpj.exe")
    shown = await window.page.evaluate("document.body.textContent")
    assert not {"\u202e", "\u2066", "\u200b"} & set(shown)


async def test_hostile_path_and_conversation_are_shown_as_text(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await rig.ask("a", target=f"/up/v1/{quote(MARKUP)}?secret=1", conversation=MARKUP)
    await expect(card.slots).to_have_count(1)
    await expect(card.slots.first).to_contain_text("<img")
    assert await window.locate('img[src="x"]').count() == 0
    assert "secret" not in await window.page.content()


async def test_hostile_words_of_a_provider_are_shown_as_text(rig: Rig, window: Window) -> None:
    await rig.ask("a", workspace="alpha")
    refusal = f'{{"error":{{"message":"{MARKUP} too many concurrent requests"}}}}'
    await (await rig.up.call()).answer(429, refusal.encode(), (("Retry-After", "1"),))
    await rig.until_status(autoReduced=True)
    await expect(window.card(rig.provider).part("reduced")).to_be_visible()
    assert await window.locate('img[src="x"]').count() == 0
