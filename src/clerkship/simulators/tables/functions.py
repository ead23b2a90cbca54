"""The functions of a dataset of tables: Python code of the suite's author, loaded once per process.

See docs/decisions/0044-tools-over-tables.md for why it is trusted.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple, get_type_hints

from clerkship.kit.text import describe_error
from clerkship.model.errors import InputError
from clerkship.sandbox.json_schema import InvalidSchema, check_schema
from clerkship.simulators.tables.annotations import NoJsonType, build_schema
from clerkship.simulators.tables.execution import STEP, STEPS, compile_counted, take_step, take_steps
from clerkship.simulators.tables.source import FILE, GIVEN, RESERVED

_ARGUMENTS = re.compile(r"^[ \t]*(?:Args|Arguments|Parameters):[ \t]*$", re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*(?:Returns?|Raises|Yields|Examples?|Notes?):[ \t]*$", re.MULTILINE)
_ARGUMENT = re.compile(r"[ \t]+(\w+)(?:[ \t]*\([^)\n]*\))?:[ \t]*(.+(?:\n[ \t]{8,}\S.*)*)")


class TableFunction(NamedTuple):
    """A function that agents can call."""

    name: str
    run: Callable[..., Any]
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of its arguments."""
    given: frozenset[str]
    """The parameters that the sandbox fills: `db`, `now`, `new_id` and `kept`."""


@lru_cache(maxsize=64)
def load_functions(source: str) -> Mapping[str, TableFunction]:
    """Execute the source and return its public functions by name, in order; raise InputError."""
    namespace: dict[str, Any] = {"__name__": "clerkship_table_functions", "__file__": FILE}
    namespace |= {STEP: take_step, STEPS: take_steps}
    try:
        exec(compile_counted(source), namespace)  # trusted code of the author, like a solution
    except (Exception, SystemExit) as error:
        raise InputError.of(f"it cannot be imported: {describe_error(error)}", file=FILE) from error
    functions = {
        name: _build_function(value, namespace)
        for name, value in namespace.items()
        if isinstance(value, FunctionType) and value.__code__.co_filename == FILE and not name.startswith("_")
    }
    return {name: function for name, function in functions.items() if name not in RESERVED}


def _build_function(function: FunctionType, namespace: dict[str, Any]) -> TableFunction:
    name, line = function.__name__, function.__code__.co_firstlineno
    try:
        hints = get_type_hints(function, globalns=namespace, include_extras=True)
        schema, given = _build_parameters(function, hints, namespace)
        check_schema(schema)
    except (NoJsonType, InvalidSchema, NameError, TypeError, RecursionError) as error:
        raise InputError.of(f"`{name}` (line {line}): {error}", file=FILE) from None
    return TableFunction(name, function, _cut_sections(inspect.getdoc(function) or ""), schema, given)


def _build_parameters(
    function: FunctionType, hints: Mapping[str, Any], namespace: dict[str, Any]
) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the schema of the arguments, and the names of the parameters that the sandbox fills."""
    parameters = inspect.signature(function).parameters
    texts = _find_descriptions(inspect.getdoc(function) or "")
    properties: dict[str, Any] = {}
    for name in [name for name in parameters if name not in GIVEN]:
        try:
            schema = build_schema(hints.get(name, Any), namespace)
        except NoJsonType as error:
            raise NoJsonType(f"parameter `{name}`: {error}") from None
        default = parameters[name].default
        is_plain = default is None or isinstance(default, str | int | float)
        properties[name] = ({"description": texts[name]} if name in texts else {}) | schema
        properties[name] |= {"default": default} if is_plain else {}
    required = [name for name in properties if parameters[name].default is inspect.Parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return schema, frozenset(parameters) & GIVEN


def _cut_sections(text: str) -> str:
    """Return a docstring without the sections that the schema tells: arguments, results and errors."""
    starts = [match.start() for match in (*_ARGUMENTS.finditer(text), *_SECTION.finditer(text))]
    return text[: min(starts, default=len(text))].strip()


def _find_descriptions(text: str) -> dict[str, str]:
    """Return the descriptions of parameters in the section `Args` of a docstring."""
    start = _ARGUMENTS.search(text)
    if start is None:
        return {}
    end = _SECTION.search(text, start.end())
    section = text[start.end() : end.start() if end is not None else len(text)]
    return {name: " ".join(words.split()) for name, words in _ARGUMENT.findall(section)}
