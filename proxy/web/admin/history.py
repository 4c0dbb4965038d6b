# What was at a provider: points and marks for its plots, and the changes by hand.
#
# Rule 1: steps are counted from the epoch, so that the same point is the same time in every answer: the first one is
#         that in which `since` is, the last one that in which `until` is, and they are told whole.
# Rule 2: what cannot be read from the state is a 503 that says why: nothing is made up.

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from aiohttp import web

from proxy.service.audit import Actor, What
from proxy.service.history import KINDS, Point
from proxy.service.runtime import Runtime
from proxy.store import MINUTE_MS, SavedChange, StoreError
from proxy.web.admin import sheet
from proxy.web.admin.call import Answer, Call, CallError, Schema
from proxy.web.admin.reading import choice, part, text, unknown_provider, whole
from proxy.web.admin.schemas import COUNT, MAYBE_TEXT, TEXT, TIME, listing, record, ref

HOUR_MS = 3_600_000
STEP_MAX = 1440  # minutes
CHANGES_MAX = 1000
_LATEST_MS = 8_640_000_000_000_000  # the last moment that a date in JavaScript can say

T = TypeVar("T")


async def get_history(runtime: Runtime, request: web.Request) -> web.Response:
    provider_id = _remembered(runtime, request)
    step_ms = whole(request, "step", 1, STEP_MAX, 1) * MINUTE_MS
    since, until = _time(request, runtime.clock.wall_ms())
    since, end = since - since % step_ms, until + -until % step_ms
    form = choice(request, "format", ("json", "csv"))
    found = await _read(runtime, runtime.history.points(provider_id, since_ms=since, until_ms=end, step_ms=step_ms))
    now_ms = runtime.clock.wall_ms()

    def answer() -> web.Response:
        points = [_point(point, partial=point.at + step_ms > now_ms) for point in found]
        if form == "csv":
            return sheet.download(points, provider_id)
        return web.json_response(
            {"providerId": provider_id, "since": since, "until": until, "stepMs": step_ms, "points": points}
        )

    return await asyncio.to_thread(answer)  # seven days of minutes take a while, and no request waits for them


async def get_marks(runtime: Runtime, request: web.Request) -> web.Response:
    provider_id = _remembered(runtime, request)
    since, until = _time(request, runtime.clock.wall_ms() + 1)  # with what happened just now
    marks = await _read(runtime, runtime.history.marks(provider_id, since_ms=since, until_ms=until))
    return web.json_response({"providerId": provider_id, "marks": [mark._asdict() for mark in marks]})


async def get_audit(runtime: Runtime, request: web.Request) -> web.Response:
    since, most = whole(request, "since", 0, _LATEST_MS, 0), whole(request, "limit", 1, CHANGES_MAX, 100)
    provider_id = text(request, "provider")
    found = await _read(runtime, runtime.audit.last(since_ms=since, most=most, provider_id=provider_id))
    return web.json_response({"changes": [_change(change) for change in found]})


def _remembered(runtime: Runtime, request: web.Request) -> str:
    """The provider that the path names, if it is known or there is a history of it."""
    provider_id = part(request, "providerId")
    if provider_id not in runtime.admissions and not runtime.history.knows(provider_id):
        raise unknown_provider(runtime, provider_id)
    return provider_id


def _time(request: web.Request, now_ms: int) -> tuple[int, int]:
    """From when until before when; the last hour, if nothing is said."""
    until = whole(request, "until", 1, _LATEST_MS, now_ms)
    since = whole(request, "since", 0, _LATEST_MS, max(until - HOUR_MS, 0))
    if since >= until:
        raise CallError(400, "bad_request", f"since in the query: found {since}; allowed: less than until, {until}")
    return since, until


async def _read(runtime: Runtime, reading: Awaitable[T]) -> T:
    try:
        return await reading
    except StoreError as error:
        runtime.telemetry.state_unread(str(error))
        raise CallError(503, "state_unreadable", str(error)) from None


def _point(point: Point, *, partial: bool) -> dict[str, object]:
    shown: dict[str, object] = {
        "at": point.at,
        "limit": point.limit,
        "inFlightMax": point.in_flight_max,
        "inFlightMean": point.in_flight_mean,
        "queuedMax": point.queued_max,
        "queuedMean": point.queued_mean,
        "oldestWaitMsMax": point.oldest_wait_ms_max,
        "granted": point.granted,
        "completed": point.completed,
        "waitMsP50": point.wait_ms_p50,
        "waitMsP95": point.wait_ms_p95,
        "firstByteMsP50": point.first_byte_ms_p50,
        "firstByteMsP95": point.first_byte_ms_p95,
        "rateLimited": point.rate_limited,
        "reduced": point.reduced,
        "pausedMs": point.paused_ms,
    }
    return {**shown, "partial": True} if partial else shown


def _change(change: SavedChange) -> dict[str, object]:
    return {
        "at": change.at,
        "by": change.by,
        "what": change.what,
        "providerId": change.provider_id,
        "workspaceId": change.workspace,
        "from": change.before,
        "to": change.after,
    }


_QUERY: dict[str, Schema] = {"since": TIME, "until": {**TIME, "description": "epoch milliseconds; not within"}}
_STEP: Schema = {
    "type": "integer",
    "minimum": 1,
    "maximum": STEP_MAX,
    "description": "minutes of a point, counted from the epoch; the first and the last one are told whole",
}
_FORMAT: Schema = {"enum": ["json", "csv"], "description": "csv: a table with the points' keys, and the time in words"}
_MOST: Schema = {"type": "integer", "minimum": 1, "maximum": CHANGES_MAX}
_UNKNOWN = Answer(says="No such provider, now or in the history", schema=ref("Error"))
_UNREADABLE = Answer(says="The state cannot be read", schema=ref("Error"))
_VALUE: Schema = {"type": ["object", "integer", "boolean", "null"]}
_MARK = record({"at": TIME, "kind": {"enum": list(KINDS)}, "text": TEXT})
_CHANGE = record(
    {
        "at": TIME,
        "by": {"enum": [by.value for by in Actor]},
        "what": {"enum": [what.value for what in What]},
        "providerId": MAYBE_TEXT,
        "workspaceId": MAYBE_TEXT,
        "from": _VALUE,
        "to": _VALUE,
    }
)

CALLS = (
    Call(
        method="GET",
        path="/concurrency/history/{providerId}",
        says="What went on at a provider, minute by minute, for seven days; without a time, in the last hour",
        handler=get_history,
        query={**_QUERY, "step": _STEP, "format": _FORMAT},
        answers={
            200: Answer(
                says="A point for each step in which the proxy ran; the present one is partial. As a table with "
                "format=csv",
                schema=record(
                    {
                        "providerId": TEXT,
                        "since": TIME,
                        "until": TIME,
                        "stepMs": COUNT,
                        "points": {"type": "array", "items": ref("Point")},
                    }
                ),
            ),
            404: _UNKNOWN,
            503: _UNREADABLE,
        },
    ),
    Call(
        method="GET",
        path="/concurrency/marks/{providerId}",
        says="What happened at a provider, in words, the newest last; without a time, in the last hour",
        handler=get_marks,
        query=_QUERY,
        answers={
            200: Answer(
                says="The last 1,000 of that time",
                schema=record({"providerId": TEXT, "marks": {"type": "array", "items": _MARK}}),
            ),
            404: _UNKNOWN,
            503: _UNREADABLE,
        },
    ),
    Call(
        method="GET",
        path="/concurrency/audit",
        says="The changes by hand that took effect, also by the file, the last one first, for a year",
        handler=get_audit,
        query={"since": TIME, "limit": _MOST, "provider": TEXT},
        answers={200: Answer(says="The changes", schema=listing("changes", _CHANGE)), 503: _UNREADABLE},
    ),
)
