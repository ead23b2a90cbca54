"""JSON Schema for inputs of operations: check a schema when it is declared, and values when they arrive.

The supported keywords are those of draft 2020-12 in `KEYWORDS`. A keyword that is neither supported nor an
annotation is an error in the declaration: ignoring it would accept what the schema forbids. An integer must be
written without a fraction: `5.0` is not one.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

import orjson

from clerkship.model.pattern import PatternTooSlow, check_pattern, has_match

Schema = Mapping[str, Any] | bool
Definitions = Mapping[str, Schema]
REFERENCE = "#/$defs/"
ANNOTATIONS = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "nullable"),
        *("contentEncoding", "contentMediaType", "$comment", "$schema", "$id", "$defs"),
    }
)
TYPES: Mapping[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str, bytes),
    "array": (list,),
    "object": (dict,),
}
_BRANCH_KEYWORDS = ("anyOf", "oneOf", "allOf")
_TYPE_KEYWORDS = ("type", "enum", "const", "$ref", *_BRANCH_KEYWORDS)
_SCALAR_TYPES = ("string", "number", "boolean", "object", "null")


class InvalidSchema(ValueError):
    """A schema that is malformed, or has a keyword that is not supported."""


class Violation(NamedTuple):
    """Where and why a value violates a schema."""

    path: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(self.path) or 'input'}: {self.message}"

    def below(self, key: str | int) -> "Violation":
        """Return the violation as seen from the object or array that contains the value."""
        return Violation((str(key), *self.path), self.message)


def build_any_schema(depth: int = 2) -> dict[str, Any]:
    """Return the schema of any JSON value, with its types listed: some model servers reject a schema without a type.

    Others reject an array without `items`, so arrays are described to the given depth.
    """
    if depth == 0:
        return {"type": list(_SCALAR_TYPES)}
    return {"type": [*_SCALAR_TYPES, "array"], "items": build_any_schema(depth - 1)}


def add_types(schema: Schema) -> dict[str, Any]:
    """Return a schema in which each part without a type has the list of all types."""
    if isinstance(schema, bool):
        return build_any_schema() if schema else {"not": {}}
    typed = dict(schema)
    for keyword in ("properties", "$defs"):
        if keyword in schema:
            typed[keyword] = {name: add_types(part) for name, part in schema[keyword].items()}
    for keyword in _BRANCH_KEYWORDS:
        if keyword in schema:
            typed[keyword] = [add_types(part) for part in schema[keyword]]
    if "items" in schema:
        typed["items"] = add_types(schema["items"])
    elif "array" in _get_type_names(schema):
        typed["items"] = build_any_schema(1)
    if isinstance(schema.get("additionalProperties"), Mapping):
        typed["additionalProperties"] = add_types(schema["additionalProperties"])
    return typed if any(keyword in schema for keyword in _TYPE_KEYWORDS) else build_any_schema() | typed


def find_violation(schema: Schema, value: Any, definitions: Definitions | None = None) -> Violation | None:
    """Return the first violation of a schema that `check_schema` accepts, or None."""
    if isinstance(schema, bool):
        return None if schema else Violation((), "not allowed")
    known = schema.get("$defs", {}) if definitions is None else definitions
    for keyword, check in KEYWORDS.items():
        if keyword in schema:
            violation = check(schema, value, known)
            if violation is not None:
                return violation
    return None


def _fits(schema: Schema, value: Any, definitions: Definitions) -> bool:
    return find_violation(schema, value, definitions) is None


def _has_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def _is_equal(one: Any, other: Any) -> bool:
    """Compare two JSON values; `true` is not equal to 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    return bool(one == other)


def _violation_unless(holds: bool, message: str) -> Violation | None:
    return None if holds else Violation((), message)


def _to_json(value: Any) -> str:
    return orjson.dumps(value, default=repr).decode()[:200]


def _check_reference(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    return find_violation(definitions[schema["$ref"].removeprefix(REFERENCE)], value, definitions)


def _check_type(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    names = _get_type_names(schema)
    return _violation_unless(any(_has_type(value, name) for name in names), f"must be of type {' or '.join(names)}")


def _check_enum(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    is_listed = any(_is_equal(value, each) for each in schema["enum"])
    return _violation_unless(is_listed, f"must be one of {', '.join(map(_to_json, schema['enum']))}")


def _check_const(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    return _violation_unless(_is_equal(value, schema["const"]), f"must be {_to_json(schema['const'])}")


def _check_properties(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    if not isinstance(value, dict):
        return None
    for name, field in schema["properties"].items():
        violation = find_violation(field, value[name], definitions) if name in value else None
        if violation is not None:
            return violation.below(name)
    return None


def _check_additional(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    named = schema.get("properties", {})
    for name in value if isinstance(value, dict) else ():
        violation = None if name in named else find_violation(schema["additionalProperties"], value[name], definitions)
        if violation is not None:
            return violation.below(name)
    return None


def _check_required(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    missing = [name for name in schema["required"] if name not in value] if isinstance(value, dict) else []
    return Violation((missing[0],), "missing") if missing else None


def _check_items(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    for place, item in enumerate(value if isinstance(value, list) else ()):
        violation = find_violation(schema["items"], item, definitions)
        if violation is not None:
            return violation.below(place)
    return None


def _check_unique(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    if not schema["uniqueItems"] or not isinstance(value, list):
        return None
    texts = [_to_canonical_json(item) for item in value]
    return _violation_unless(len(set(texts)) == len(texts), "has the same item twice")


def _to_canonical_json(value: Any) -> bytes:
    """Return the same text for values that are equal as JSON, so that many items are compared in linear time."""
    return orjson.dumps(_normalize_numbers(value), option=orjson.OPT_SORT_KEYS)


def _normalize_numbers(value: Any) -> Any:
    """Replace numbers such as 1.0 by integers."""
    if isinstance(value, dict):
        return {key: _normalize_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(item) for item in value]
    is_small = isinstance(value, float) and abs(value) < 2**53
    return int(value) if is_small and value == int(value) else value


def _check_pattern(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    if not isinstance(value, str):
        return None
    try:
        return _violation_unless(has_match(schema["pattern"], value), f"must match the pattern {schema['pattern']}")
    except PatternTooSlow:
        return Violation((), f"takes too long to compare with the pattern {schema['pattern']}")


def _check_any_of(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    violations = []
    for branch in schema["anyOf"]:
        violation = find_violation(branch, value, definitions)
        if violation is None:
            return None
        violations.append(violation)
    deepest = max(violations, key=lambda violation: len(violation.path))
    return deepest if deepest.path else Violation((), "; or ".join(each.message for each in violations))


def _check_one_of(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    fitting = sum(_fits(branch, value, definitions) for branch in schema["oneOf"])
    if fitting == 0:
        return _check_any_of({"anyOf": schema["oneOf"]}, value, definitions)
    return _violation_unless(fitting == 1, f"fits {fitting} of the schemas in oneOf, and must fit one")


def _check_all_of(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    violations = (find_violation(branch, value, definitions) for branch in schema["allOf"])
    return next((violation for violation in violations if violation is not None), None)


def _check_not(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
    return _violation_unless(not _fits(schema["not"], value, definitions), "fits a schema that it must not fit")


KeywordCheck = Callable[[Mapping[str, Any], Any, Definitions], Violation | None]


def _build_limit_check(
    keyword: str, types: tuple[type[Any], ...], compare: Callable[[Any, Any], bool], words: str, unit: str = ""
) -> KeywordCheck:
    """Return the check of a keyword that limits a number or, with a unit, the size of a value."""

    def check(schema: Mapping[str, Any], value: Any, definitions: Definitions) -> Violation | None:
        if not isinstance(value, types) or isinstance(value, bool):
            return None
        limit = schema[keyword]
        message = f"must have {words} {limit} {unit}" if unit else f"must be {words} {limit}"
        return _violation_unless(compare(len(value) if unit else value, limit), message)

    return check


_SIZES = {
    f"{end}{suffix}": _build_limit_check(f"{end}{suffix}", types, compare, words, unit)
    for suffix, types, unit in (
        ("Length", (str, bytes), "characters"),
        ("Items", (list,), "items"),
        ("Properties", (dict,), "properties"),
    )
    for end, compare, words in (("min", ge, "at least"), ("max", le, "at most"))
}
_LIMITS = {
    keyword: _build_limit_check(keyword, (int, float), compare, words)
    for keyword, compare, words in (
        ("minimum", ge, "at least"),
        ("maximum", le, "at most"),
        ("exclusiveMinimum", gt, "more than"),
        ("exclusiveMaximum", lt, "less than"),
    )
}
KEYWORDS: Mapping[str, KeywordCheck] = {
    "$ref": _check_reference,
    "type": _check_type,
    "enum": _check_enum,
    "const": _check_const,
    **_LIMITS,
    **_SIZES,
    "pattern": _check_pattern,
    "required": _check_required,
    "properties": _check_properties,
    "additionalProperties": _check_additional,
    "items": _check_items,
    "uniqueItems": _check_unique,
    "allOf": _check_all_of,
    "anyOf": _check_any_of,
    "oneOf": _check_one_of,
    "not": _check_not,
}
"""Keyword -> its check, in the order in which violations are reported."""


def check_schema(schema: Schema) -> None:
    """Raise InvalidSchema for a schema that `find_violation` cannot fully apply."""
    definitions = schema.get("$defs", {}) if isinstance(schema, Mapping) else {}
    _expect(isinstance(definitions, Mapping), "$defs", "must be an object")
    for name, definition in definitions.items():
        _check_nested_schema(definition, f"$defs.{name}", definitions)
    _check_nested_schema(schema, "schema", definitions)
    for name in definitions:
        _check_not_recursive(definitions[name], definitions, (name,))


def _expect(holds: bool, where: str, message: str) -> None:
    if not holds:
        raise InvalidSchema(f"{where}: {message}")


def _check_nested_schema(schema: Any, where: str, definitions: Definitions) -> None:
    """Check a schema and all schemas in it."""
    if isinstance(schema, bool):
        return
    _expect(isinstance(schema, Mapping), where, "must be an object or a boolean")
    for keyword, value in schema.items():
        if keyword not in ANNOTATIONS:
            _expect(keyword in KEYWORDS, where, f"the keyword `{keyword}` is not supported")
            _expect(
                _is_well_formed(keyword, value, definitions), f"{where}.{keyword}", f"{_to_json(value)} is not valid"
            )
    is_nested = where != "schema" and "$defs" in schema
    _expect(not is_nested, where, "$defs must be at the top of the schema")
    if "pattern" in schema:
        _check_pattern_keyword(schema, where)
    for name, nested in _iter_subschemas(schema):
        _check_nested_schema(nested, f"{where}.{name}", definitions)


def _check_pattern_keyword(schema: Mapping[str, Any], where: str) -> None:
    _expect(schema.get("format") != "binary", where, "`pattern` does not apply to bytes (format: binary)")
    try:
        check_pattern(schema["pattern"])
    except ValueError as error:
        raise InvalidSchema(f"{where}.pattern: {error}") from None


def _is_well_formed(keyword: str, value: Any, definitions: Definitions) -> bool:
    """Return whether the value of a keyword has the right form; schemas in it are not checked."""
    match keyword:
        case "$ref":
            is_known = isinstance(value, str) and value.removeprefix(REFERENCE) in definitions
            return is_known and value.startswith(REFERENCE)
        case "type":
            names = value if isinstance(value, list) else [value]
            return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)
        case "enum" | "anyOf" | "oneOf" | "allOf":
            return isinstance(value, list) and bool(value)
        case "required":
            return isinstance(value, list) and all(isinstance(name, str) for name in value)
        case "properties":
            return isinstance(value, Mapping)
        case "uniqueItems":
            return isinstance(value, bool)
        case "pattern":
            return isinstance(value, str)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if keyword in _SIZES:
        return is_number and isinstance(value, int) and value >= 0
    return is_number if keyword in _LIMITS else True


def _iter_subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas directly in a schema, each with its location."""
    for keyword in ("items", "additionalProperties", "not"):
        if keyword in schema:
            yield keyword, schema[keyword]
    for keyword in _BRANCH_KEYWORDS:
        yield from ((f"{keyword}.{place}", branch) for place, branch in enumerate(schema.get(keyword, ())))
    yield from ((f"properties.{name}", field) for name, field in schema.get("properties", {}).items())


def _check_not_recursive(schema: Schema, definitions: Definitions, via: tuple[str, ...]) -> None:
    """Raise InvalidSchema for a definition that refers to itself for the same value: its check would never end."""
    if isinstance(schema, bool):
        return
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REFERENCE)
        _expect(name not in via, f"$defs.{via[0]}", f"refers to itself through {' -> '.join((*via, name))}")
        _check_not_recursive(definitions[name], definitions, (*via, name))
    for branch in [
        *(each for keyword in _BRANCH_KEYWORDS for each in schema.get(keyword, ())),
        schema.get("not", True),
    ]:
        _check_not_recursive(branch, definitions, via)


def _get_type_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    declared = schema.get("type", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def get_types(schema: Schema, definitions: Definitions) -> frozenset[str]:
    """Return the types that a schema names: itself, by reference, or in its branches."""
    if isinstance(schema, bool):
        return frozenset()
    branches = [branch for keyword in _BRANCH_KEYWORDS for branch in schema.get(keyword, ())]
    if "$ref" in schema:
        branches.append(definitions[schema["$ref"].removeprefix(REFERENCE)])
    return frozenset(_get_type_names(schema)).union(*(get_types(branch, definitions) for branch in branches))


def convert_text(schema: Schema, text: str, definitions: Definitions) -> Any:
    """Convert text to the number or boolean that its schema declares; return other text unchanged."""
    types = get_types(schema, definitions)
    if "string" in types or not types & {"integer", "number", "boolean"}:
        return text
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value if any(_has_type(value, name) for name in types & {"integer", "number", "boolean"}) else text
