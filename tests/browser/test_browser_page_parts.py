# What the page is made of, each part by itself: words, lists that are redrawn, a field for a number, cells, events.

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from blackbox.rig import a_rig
from onscreen.window import Window
from playwright.async_api import Browser

from proxy.service.words import lasting

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
HOLDER = "const holder = document.createElement('ul'); document.body.append(holder);"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def window(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Window]:
    """A page with the modules at hand; no test here changes anything in it."""
    async with a_rig(tmp_path_factory.mktemp("parts"), {}) as rig:
        context = await browser.new_context(locale="en-GB")
        host, port = rig.proxy.admin_address
        yield await Window(await context.new_page(), f"http://{host}:{port}/").open()
        await context.close()


async def call(window: Window, module: str, name: str, *arguments: Any) -> Any:
    return await window.call(f"page/{module}.js", name, *arguments)


async def words(window: Window, name: str, *arguments: Any) -> Any:
    return await call(window, "words", name, *arguments)


async def run(window: Window, module: str, script: str) -> Any:
    """What `script` answers, with everything of the module as `it`."""
    return await window.page.evaluate(
        f"async () => {{ const it = await import(new URL('page/{module}.js', document.baseURI)); {script} }}"
    )


async def test_lengths_of_time_have_two_units_at_most(window: Window) -> None:
    said = {
        -5: "0 s",
        0: "0 s",
        30: "0.1 s",
        420: "0.4 s",
        960: "1 s",
        59.4 * SECOND: "59 s",
        59.6 * SECOND: "1 min",
        4 * MINUTE + 12 * SECOND: "4 min 12 s",
        9 * MINUTE + 59.7 * SECOND: "10 min",
        54 * MINUTE + 10 * SECOND: "54 min",
        HOUR - 1: "1 h",
        3 * HOUR + 5 * MINUTE: "3 h 5 min",
        DAY - 1: "1 d",
        2 * DAY + 4 * HOUR: "2 d 4 h",
    }
    assert {ms: await words(window, "span", ms) for ms in said} == said


async def test_lengths_of_time_are_those_of_the_command_line(window: Window) -> None:
    steps = [*range(0, 130_000, 370), *range(130_000, 4 * HOUR, 47_001), *range(4 * HOUR, 3 * DAY, HOUR + 777_777)]
    assert await run(window, "words", f"return {steps}.map(it.span);") == [lasting(ms / 1000) for ms in steps]


async def test_time_is_read_with_its_unit(window: Window) -> None:
    said = {"350": 350, "350ms": 350, "350 ms": 350, "1s": 1000, "1.5 s": 1500, "2m": 120_000, "2 min": 120_000, "0": 0}
    assert {text: await call(window, "fields", "milliseconds", text) for text in said} == said
    for text in ("", "soon", "1.5", "1.5ms", "-1s", "1h", "1e3", "1 s s"):
        assert await call(window, "fields", "milliseconds", text) != await call(
            window, "fields", "milliseconds", text
        ), text


async def test_what_counts_down_never_says_less_than_a_second(window: Window) -> None:
    assert [await words(window, "roughly", ms) for ms in (-1, 1, 1001, 61_000)] == ["1 s", "1 s", "2 s", "1 min 1 s"]


async def test_estimates_are_no_finer_than_they_can_be_true(window: Window) -> None:
    said = {
        400: "about 1 s",
        9200: "about 10 s",
        11_000: "about 15 s",
        59_000: "about 1 min",
        70_000: "about 1 min 30 s",
        9 * MINUTE + 50_000: "about 10 min",
        10 * MINUTE + 1: "about 11 min",
    }
    assert {ms: await words(window, "about", ms) for ms in said} == said


async def test_characters_that_deceive_are_seen(window: Window) -> None:
    assert await words(window, "visible", "a\u202eb\u0007c\u200bd") == "a\ufffdb\ufffdc\ufffdd"
    for hidden in ("\xa0", "\xad", "\u3164", "\u200d", "\U000e0041"):
        assert await words(window, "visible", f"default{hidden}") == "default\ufffd"
    assert [await words(window, "visible", name) for name in ("", " ", "a b")] == ["", '" "', "a b"]
    kept = "<img src=x onerror=alert(1)> שלום 🦀 é"
    assert await words(window, "visible", kept) == kept


async def test_long_ids_are_cut_between_characters(window: Window) -> None:
    assert await words(window, "brief", "3f508249-7c11-4a7e-8f0e-1d6f4f0a8c11") == "3f508249…"
    assert await words(window, "brief", "session-12") == "session-12"
    assert await words(window, "brief", "🦀" * 20) == "🦀" * 8 + "…"
    assert await words(window, "brief", None) == "no conversation"


async def test_list_moves_what_it_has_and_makes_only_what_is_new(window: Window) -> None:
    script = f"""
      {HOLDER}
      let made = 0;
      const make = () => {{ made += 1; const node = document.createElement('li');
        return {{ node, update: (item) => {{ node.textContent = item.text; }} }}; }};
      const list = new it.List(holder, (item) => item.id, make);
      const shown = () => [...holder.children].map((each) => each.textContent).join();
      const seen = [];
      list.update([{{ id: 1, text: 'a' }}, {{ id: 2, text: 'b' }}, {{ id: 3, text: 'c' }}]);
      const first = holder.firstChild;
      seen.push(shown());
      list.update([{{ id: 3, text: 'c' }}, {{ id: 1, text: 'A' }}, {{ id: 4, text: 'd' }}]);
      seen.push(shown(), made, holder.children[1] === first);
      list.update([]);
      seen.push(shown());
      holder.remove();
      return seen;
    """
    assert await run(window, "dom", script) == ["a,b,c", "c,A,d", 4, True, ""]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([3, 2, 1], "2"),  # it has moved
        ([1, 3], "3"),  # it has gone: the same button of who stands there now
        ([1], "1"),  # the last one had it
    ],
)
async def test_focus_stays_where_a_person_was(window: Window, after: list[int], expected: str) -> None:
    script = f"""
      {HOLDER}
      const make = (id) => {{ const node = document.createElement('li'), button = document.createElement('button');
        button.dataset.action = 'drop'; button.id = 'row-' + id; button.textContent = id; node.append(button);
        return {{ node, update() {{}} }}; }};
      const list = new it.List(holder, (id) => id, make);
      list.update([1, 2, 3]);
      document.getElementById('row-2').focus();
      list.update({after});
      const focused = document.activeElement.textContent;
      holder.remove();
      return focused;
    """
    assert await run(window, "dom", script) == expected


async def test_what_somebody_types_is_not_replaced_until_it_is_saved_or_taken_back(window: Window) -> None:
    script = """
      const saved = [];
      const save = async (value) => { saved.push(value); };
      const field = new it.NumberField({ name: 'limit', label: 'Limit', least: 1, most: 9, save });
      document.body.append(field.node);
      const seen = [];
      const type = (text) => { field.input.value = text; field.input.dispatchEvent(new Event('input')); };
      const key = (name) => field.input.dispatchEvent(new KeyboardEvent('keydown', { key: name }));
      field.update(4, '');
      seen.push(field.input.value, field.button.hidden);
      type('7');
      field.update(5, '');
      seen.push(field.input.value, field.button.hidden);
      key('Escape');
      seen.push(field.input.value, field.button.hidden);
      type('10');
      field.node.requestSubmit();
      seen.push(field.problem.textContent, field.input.getAttribute('aria-invalid'), saved.length);
      type('9');
      field.node.requestSubmit();
      await Promise.resolve();
      field.update(9, '');
      seen.push(field.problem.textContent, saved.join(), field.button.hidden);
      field.node.remove();
      return seen;
    """
    assert await run(window, "fields", script) == [
        *("4", True),
        *("7", False),
        *("5", True),
        *("Allowed is a whole number from 1 to 9.", "true", 0),
        *("", "9", True),
    ]


async def test_what_the_proxy_says_against_a_value_stands_beside_the_field(window: Window) -> None:
    script = """
      const refused = Object.assign(new Error('no such provider'), { status: 404 });
      const save = () => Promise.reject(refused);
      const field = new it.NumberField({ name: 'limit', label: 'Limit', least: 1, most: 9, save });
      document.body.append(field.node);
      field.update(4, '');
      field.input.value = '5';
      field.node.requestSubmit();
      await new Promise((then) => setTimeout(then));
      const seen = [field.problem.textContent, field.input.value, field.button.hidden];
      field.node.remove();
      return seen;
    """
    assert await run(window, "fields", script) == ["Not saved: no such provider", "5", False]


CELLS = """
  const slots = new it.Slots({});
  const entry = (limit) => ({ providerId: 'p', limit });
  const slot = (id, phase = 'streaming') => ({ id, phase, workspaceId: 'w' + id, conversationId: null, grantedAt: 0,
    lastByteAt: 0, cooledAt: phase === 'cooling' ? 5000 : undefined });
  const draw = (limit, ids, now = 0) => slots.update(entry(limit), ids, now, false);
  const shown = () => [...slots.cells.children].map((each) =>
    (each.dataset.slot ?? '-') + (each.classList.contains('over') ? '!' : '')).join(' ');
"""


async def test_slot_keeps_its_cell_until_it_is_free(window: Window) -> None:
    script = f"""
      {CELLS}
      const seen = [];
      draw(4, [slot('a'), slot('b'), slot('c')]); seen.push(shown());
      draw(4, [slot('b'), slot('c')]); seen.push(shown());
      draw(4, [slot('c'), slot('b'), slot('d', 'cooling')]); seen.push(shown());
      draw(4, [slot('c'), slot('b'), slot('d', 'cooling')], 5001); seen.push(shown());
      return seen;
    """
    assert await run(window, "slots", script) == ["a b c -", "- b c -", "d b c -", "- b c -"]


async def test_slots_over_a_lowered_limit_say_so_and_no_cell_is_free_beside_them(window: Window) -> None:
    script = f"""
      {CELLS}
      const seen = [];
      draw(4, [slot('a'), slot('b'), slot('c'), slot('d')]);
      draw(2, [slot('a'), slot('b'), slot('c'), slot('d')]); seen.push(shown());
      draw(2, [slot('b'), slot('c'), slot('d')]); seen.push(shown());
      draw(null, [slot('b'), slot('d')]); seen.push(shown());
      return seen;
    """
    first, second, unlimited = await run(window, "slots", script)
    assert first == "a b c! d!"
    assert "-" not in second
    assert sorted(second.replace("!", "").split()) == ["b", "c", "d"]
    assert second.count("!") == 1
    assert sorted(unlimited.split()) == ["b", "d"]


async def test_very_many_slots_are_squares_and_a_number(window: Window) -> None:
    script = f"""
      {CELLS}
      draw(100000, [slot('a')]);
      const squares = slots.cells.children.length;
      slots.fold.click();
      return [squares, slots.more.textContent, shown(), slots.fold.textContent];
    """
    squares, more, opened, fold = await run(window, "slots", script)
    assert 0 < squares <= 400
    assert (more, opened, fold) == ("and 99,999 more, free", "a", "Fold")


async def test_events_are_counted_by_whole_lines_and_the_last_id_is_kept(window: Window) -> None:
    script = """
      let events = 0;
      const stream = new it.Events(null, () => { events += 1; });
      let rest = stream._take(': nothing\\n\\nid: 1');
      const before = [events, stream.lastId];
      rest = stream._take(rest + '7\\nevent: queued\\ndata: {}\\n\\nid: 18\\nevent: granted\\n');
      return [...before, events, stream.lastId, rest];
    """
    assert await run(window, "events", script) == [0, None, 1, "18", ""]


async def test_cell_is_as_high_at_any_age(window: Window) -> None:
    script = f"""
      {CELLS}
      const card = document.createElement('article');
      card.className = 'card';
      card.style.width = '340px';
      card.append(slots.node);
      document.querySelector('main').append(card);
      const heights = [9, 10, 59, 599].map((seconds) => {{
        draw(2, [{{ ...slot('a'), lastByteAt: seconds * 1000 }}], seconds * 1000);
        return slots.cells.firstChild.offsetHeight; }});
      card.remove();
      return heights;
    """
    heights = await run(window, "slots", script)
    assert heights[0] > 50
    assert len(set(heights)) == 1
