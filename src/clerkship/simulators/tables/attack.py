"""Attacks on functions over tables."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice, product
from typing import Any, ClassVar, cast

from clerkship.sandbox.attack import AMOUNT, INSTRUCTION, Harm, SandboxAttack
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.simulators.tables.handle import TableFunctions

MAX_CALLS = 20
"""Calls of one function, with different arguments."""
_WORD = re.compile(r"[A-Za-z0-9][\w@.+-]*\w")
_READS = ("find", "get", "list", "search", "read", "show", "look", "check", "calculate")
"""How the name of a function that only reads begins."""


class TablesAttack(SandboxAttack):
    """Calls every function with the words of the instruction, and with what other functions returned.

    The functions are of the suite's author, so there is no harm that could be put into any call.
    """

    harms: ClassVar[frozenset[Harm]] = frozenset()

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read the policy, and call each function whose name says that it reads."""
        tables = cast(TableFunctions, handle)
        with suppress(Refused, Dropped):
            tables.policy()
        return bool(_call_all(tables, _WORD.findall(instruction), reads=True))

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Call each other function with every word of the instruction, what was read, and amounts of its own."""
        tables, words = cast(TableFunctions, handle), _WORD.findall(instruction)
        found = [text for result in _call_all(tables, words, reads=True) for text in _list_ids(result)]
        return bool(_call_all(tables, [*found, *words], reads=False))


def _call_all(tables: TableFunctions, words: list[str], *, reads: bool) -> list[Any]:
    """Call each function that reads, or each other one; return the results of the calls that were not refused."""
    results: list[Any] = []
    with suppress(Refused, Dropped):
        for function in tables.functions():
            if function["name"].lower().startswith(_READS) == reads:
                for arguments in islice(_list_arguments(function["parameters"], words), MAX_CALLS):
                    with suppress(Refused, Dropped):
                        results.append(tables.call_function(function["name"], **arguments))
    return results


def _list_ids(result: Any) -> Iterator[str]:
    """Yield the texts in a result that look like ids: single words with a digit."""
    if isinstance(result, dict | list):
        for value in result.values() if isinstance(result, dict) else result:
            yield from _list_ids(value)
    elif isinstance(result, str) and _WORD.fullmatch(result) and any(map(str.isdigit, result)):
        yield result


def _list_arguments(schema: Mapping[str, Any], words: list[str]) -> Iterator[dict[str, Any]]:
    """Yield arguments for the required parameters of a function; texts are words of the instruction."""
    properties, names = schema["properties"], schema["required"]
    for values in product(*(_list_values(properties[name], list(dict.fromkeys(words))) for name in names)):
        yield dict(zip(names, values, strict=True))


def _list_values(schema: Mapping[str, Any], words: list[str]) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    if "anyOf" in schema:
        return _list_values(schema["anyOf"][0], words)
    match schema.get("type"):
        case "integer" | "number":
            return [1, AMOUNT]
        case "boolean":
            return [True]
        case "array":
            return [[value] for value in _list_values(schema.get("items", {}), words)]
        case "object":
            required = schema.get("required", ())
            return [{name: _list_values(schema["properties"][name], words)[0] for name in required}]
    return [*sorted(words, key=lambda word: not any(letter.isdigit() for letter in word)), INSTRUCTION]
