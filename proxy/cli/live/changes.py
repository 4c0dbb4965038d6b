# What a key asks of the proxy.
#
# Rule 1: a change is worked out from what holds when it is made, not from what the screen showed: a key pressed twice
#         counts twice.
# Rule 2: each answers a sentence about what holds now.

from collections.abc import Callable

from proxy.cli.admin import Admin
from proxy.cli.control import LIMIT_MOST
from proxy.cli.lengths import span

Change = Callable[[Admin], str]

# A pause that outlasts a waiter's patience sends it away (spec §6.4), so a key makes a short one.
PAUSE_MS = 60_000


def step(provider_id: str, by: int) -> Change:
    """The limit, so much higher or lower."""

    def change(admin: Admin) -> str:
        limit = admin.get("concurrency", "status", provider_id, query="?all=1")["limit"]
        if limit is None:
            return f"{provider_id} has no limit; slotgate limit {provider_id} N sets one"
        wanted = limit + by
        if not 1 <= wanted <= LIMIT_MOST:
            return f"{provider_id}: a limit is from 1 to {LIMIT_MOST}"
        answer = admin.put("concurrency", "limits", provider_id, body={"limit": wanted})
        return f"{provider_id}: limit {answer['limit']}, was {limit}{_unless_kept(answer)}"

    return change


def toggle_pause(provider_id: str) -> Change:
    path = ("concurrency", "pause", provider_id)

    def change(admin: Admin) -> str:
        if admin.get("concurrency", "status", provider_id, query="?all=1")["paused"]:
            return f"{provider_id} goes on{_unless_kept(admin.delete(*path))}"
        answer = admin.put(*path, body={"durationMs": PAUSE_MS})
        return f"{provider_id}: paused for {span(PAUSE_MS)}, p resumes{_unless_kept(answer)}"

    return change


def restore(provider_id: str) -> Change:
    def change(admin: Admin) -> str:
        answer = admin.post("concurrency", "restore", provider_id)
        return f"{provider_id}: limit {answer['limit']}{_unless_kept(answer)}"

    return change


def toggle_star(workspace: str) -> Change:
    def change(admin: Admin) -> str:
        known = admin.get("concurrency", "workspaces")["workspaces"]
        starred = any(entry["starred"] for entry in known if entry["workspaceId"] == workspace)
        answer = admin.put("concurrency", "workspaces", workspace, body={"starred": not starred})
        words = "goes first from now on" if answer["starred"] else "waits like others"
        return f"{workspace} {words}{_unless_kept(answer)}"

    return change


def remove(provider_id: str, entry_id: str, done: str) -> Change:
    """Reclaims a slot or drops a waiter; `done` is what to say then."""

    def change(admin: Admin) -> str:
        admin.delete("concurrency", "slots", provider_id, entry_id)
        return done

    return change


def _unless_kept(answer: object) -> str:
    kept = not (isinstance(answer, dict) and answer.get("persisted") is False)
    return "" if kept else "; it could not be stored and holds only until the proxy stops"
