# The part of JSON Schema that our schemas use. Anything else in a schema is an error, so that none goes unread.

from collections.abc import Mapping
from typing import Any

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref"}
ON_NUMBERS = {"minimum", "maximum", "minLength", "maxLength", "description"}


def faults(value: Any, schema: Mapping[str, Any], document: Mapping[str, Any], at: str = "$") -> list[str]:
    """Everything about `value` that the schema does not allow."""
    assert set(schema) <= KNOWN | ON_NUMBERS, schema
    if "$ref" in schema:
        return faults(value, resolve(schema["$ref"], document), document, at)
    if "anyOf" in schema:
        each = [faults(value, option, document, at) for option in schema["anyOf"]]
        return [] if [] in each else each[0]
    if "const" in schema:
        return [] if value == schema["const"] else [f"{at}: {value!r} is not {schema['const']!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{at}: {value!r} is not in {schema['enum']}"]
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if type(value) not in [TYPES[name] for name in names]:
        return [f"{at}: {value!r} is no {names}"]
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return [f"{at}: {value} is out of range"]
    if isinstance(value, list):
        return [fault for item in value for fault in faults(item, schema["items"], document, f"{at}[]")]
    if isinstance(value, dict) and "properties" in schema:
        return _of_object(value, schema, document, at)
    return []


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], document: Mapping[str, Any], at: str) -> list[str]:
    properties = schema["properties"]
    found = [f"{at}.{name} is missing" for name in schema["required"] if name not in value]
    found += [f"{at}.{name} is not listed" for name in value if name not in properties]
    for name in value.keys() & properties.keys():
        found += faults(value[name], properties[name], document, f"{at}.{name}")
    return found


def resolve(ref: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    place: Any = document
    for name in ref.removeprefix("#/").split("/"):
        place = place[name]
    assert isinstance(place, dict)
    return place
