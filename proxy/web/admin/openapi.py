# /openapi.json: the calls, described. Pure.
#
# Rule: nothing is written here that a Call says already.

import re
from collections.abc import Iterable

from proxy import __version__
from proxy.web.admin.call import JSON, Answer, Call, Schema
from proxy.web.admin.reading import PART_MAX
from proxy.web.admin.schemas import SCHEMAS, record, ref

_PART = re.compile(r"\{(\w+)\}")
# Who may not call, at every call (guard.py), and what goes wrong in us.
_ALWAYS = {
    401: "There is a token, and the request does not bear it",
    403: "The request comes from another site's page",
    421: "There is no token, and Host is no name of this machine",
    500: "A fault of the proxy",
}
_WITH_BODY = {400: "The form of the request", 413: "The body is over 64 KiB", 415: "The body is not declared as JSON"}


def document(calls: Iterable[Call]) -> dict[str, object]:
    """The OpenAPI 3.1 document."""
    paths: dict[str, dict[str, object]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slotgate admin API", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(call: Call) -> dict[str, object]:
    parameters = [
        _parameter(name, "path", {"type": "string", "minLength": 1, "maxLength": PART_MAX})
        for name in _PART.findall(call.path)
    ]
    parameters += [_parameter(name, "query", schema) for name, schema in call.query.items()]
    answers = dict(call.answers)
    refused = dict(_ALWAYS)
    if call.method != "GET":
        refused |= _WITH_BODY
    elif parameters:
        refused[400] = _WITH_BODY[400]
    for status, says in refused.items():
        answers.setdefault(status, Answer(says=says, schema=ref("Error")))
    operation: dict[str, object] = {
        "summary": call.says,
        "responses": {str(status): _response(answer) for status, answer in sorted(answers.items())},
    }
    if parameters:
        operation["parameters"] = parameters
    if call.takes is not None:
        body = record({call.takes.name: call.takes.schema})
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    if call.open:
        operation["security"] = []
    return operation


def _parameter(name: str, place: str, schema: Schema) -> dict[str, object]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _response(answer: Answer) -> dict[str, object]:
    response: dict[str, object] = {"description": answer.says}
    if answer.content_type is not None:
        response["content"] = {answer.content_type: {} if answer.schema is None else {"schema": answer.schema}}
    return response
