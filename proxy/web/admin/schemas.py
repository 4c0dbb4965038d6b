# The shapes of the admin API's JSON, as /openapi.json tells them; entries.py makes what they describe.
#
# Rule: closed: a key that is not listed here is not answered. The tests hold every answer against its shape.

from proxy.core.model import Phase
from proxy.core.obstacle import Code
from proxy.web.admin.call import Schema

TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
NUMBER: Schema = {"type": "number", "minimum": 0}
TRUTH: Schema = {"type": "boolean"}
TIME: Schema = {"type": "integer", "description": "epoch milliseconds"}
LIMIT: Schema = {"type": ["integer", "null"], "description": "null: unlimited"}
PERSISTED: Schema = {"const": False, "description": "there when the change could not be stored: it holds in memory"}


def record(keys: dict[str, Schema], **optional: Schema) -> Schema:
    """An object with all of `keys` and perhaps some `optional` ones."""
    properties = {**keys, **optional}
    return {"type": "object", "properties": properties, "required": list(keys), "additionalProperties": False}


def listing(name: str, item: Schema) -> Schema:
    """An object with one list."""
    return record({name: {"type": "array", "items": item}})


def maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    """One of SCHEMAS by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


_BY: Schema = {"enum": ["file", "api", "auto"], "description": "who set the value in force"}
_RATE_LIMIT: dict[str, Schema] = {"at": TIME, "status": COUNT, "kind": TEXT, "retryAfterMs": MAYBE_COUNT}
_REPLICA: Schema = {**TEXT, "description": "which process; where several share the state"}
_WHO: dict[str, Schema] = {
    "id": TEXT,
    "conversationId": {**MAYBE_TEXT, "description": "fp:… where only its beginning names it; null: nothing does"},
    "workspaceId": {**TEXT, "description": "default: nothing says one"},
    "promptStartedAt": TIME,
    "path": TEXT,
}

SCHEMAS: dict[str, Schema] = {
    "Error": record({"error": record({"code": TEXT, "message": TEXT})}),
    "Limit": record({"providerId": TEXT, "limit": LIMIT}, persisted=PERSISTED),
    "Cooldown": record({"providerId": TEXT, "cooldownMs": COUNT}, persisted=PERSISTED),
    "Provider": record(
        {
            "providerId": TEXT,
            "limit": LIMIT,
            "limitBy": _BY,
            "inFlight": {**COUNT, "description": "held and cooling"},
            "held": COUNT,
            "cooling": COUNT,
            "queued": COUNT,
            "oldestWaitMs": MAYBE_COUNT,
            "waitsFor": {
                **maybe(record({"code": {"enum": [code.value for code in Code]}, "words": TEXT})),
                "description": "why the first in the queue is not let in; null: nobody waits",
            },
            "expectedWaitMs": {**MAYBE_COUNT, "description": "of somebody who comes now and goes last; null: unknown"},
            "paused": TRUTH,
            "cooldownMs": COUNT,
            "cooldownBy": _BY,
            "autoReduced": TRUTH,
            "lastRateLimit": maybe(record(_RATE_LIMIT)),
            "gate": maybe(record({"observed": MAYBE_COUNT, "at": TIME, "error": MAYBE_TEXT})),
        },
        pausedUntil=TIME,
        pauseCause={**TEXT, "description": "operator, or what the provider said"},
        autoReducedFrom=COUNT,
        notice=TEXT,
        evidence={
            "type": "array",
            "items": record({**_RATE_LIMIT, "inFlight": COUNT}),
            "description": "refusals; a step of auto_restore has its place among them: kind restored, status 0",
        },
        limitAuto={"const": True, "description": "the limit is learned from refusals"},
        cooldownAuto={"const": True, "description": "the cooldown is learned"},
        lagMs={**COUNT, "description": "how long the provider counts a request that has ended, as learned"},
        externalUse={**COUNT, "description": "what others use of the same account, by the last polls"},
        strikes={
            **record({"today": COUNT, "allowed": MAYBE_COUNT}),
            "description": "refusals for concurrency on this day (UTC), and how many the provider bears",
        },
        restoreAt={**TIME, "description": "when auto_restore takes its next step"},
        restoreAfterMs=COUNT,
        fewLeftUntil={**TIME, "description": "no more requests go before an answer says what is left, or until then"},
        quota={**record(_RATE_LIMIT), "description": "the quota is used up; gone once an answer shows otherwise"},
        persisted=PERSISTED,
    ),
    "Slot": record(
        {
            **_WHO,
            "phase": {"enum": [phase.value for phase in Phase]},
            "grantedAt": TIME,
            "lastByteAt": TIME,
            "ageMs": {**COUNT, "description": "since it was granted"},
            "silentMs": {**COUNT, "description": "since the last byte"},
            "bytes": COUNT,
        },
        cooledAt={**TIME, "description": "when it is free; while it rests"},
        replica=_REPLICA,
    ),
    "Waiter": record(
        {
            **_WHO,
            "position": {"type": "integer", "minimum": 1},
            "starred": TRUTH,
            "waitingMs": COUNT,
            "why": {**TEXT, "description": "why it stands where it stands"},
            "expectedWaitMs": {**MAYBE_COUNT, "description": "from now on, as far as can be told; null: unknown"},
        },
        replica=_REPLICA,
    ),
    "Workspace": record(
        {"workspaceId": TEXT, "starred": TRUTH, "queued": COUNT, "inFlight": COUNT}, persisted=PERSISTED
    ),
    "Point": record(
        {
            "at": {**TIME, "description": "the beginning of the step, epoch milliseconds"},
            "limit": {**LIMIT, "description": "the last one in force; null: unlimited"},
            "inFlightMax": {**COUNT, "description": "held and cooling, as looked at every second"},
            "inFlightMean": NUMBER,
            "queuedMax": COUNT,
            "queuedMean": NUMBER,
            "oldestWaitMsMax": COUNT,
            "granted": COUNT,
            "completed": {**COUNT, "description": "counted requests that were answered to their end"},
            "waitMsP50": {**MAYBE_COUNT, "description": "of what was granted, at once too; null: nothing was"},
            "waitMsP95": MAYBE_COUNT,
            "firstByteMsP50": {**MAYBE_COUNT, "description": "from sending to the answer's first byte"},
            "firstByteMsP95": MAYBE_COUNT,
            "rateLimited": {**COUNT, "description": "refusals by the provider"},
            "reduced": {**COUNT, "description": "steps by which the limit was lowered"},
            "pausedMs": COUNT,
        },
        partial={"const": True, "description": "the step is not over yet"},
    ),
    "State": record({"kind": TEXT, "ok": TRUTH}, error=TEXT, replica=_REPLICA),
}
