"""Load grammars from `tables/*.json` and choose the one for a transaction set."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.formats.x12.grammar import Grammar
from clerkship.formats.x12.grammar_compiler import GrammarCompiler
from clerkship.formats.x12.segment import X12Segment

_TABLES = Path(__file__).with_name("tables")


class UnsupportedSet(NamedTuple):
    """Why there is no grammar for a transaction set."""

    code: str
    version: str
    name: str
    """What the transaction is, such as `professional claim`; empty if it is unknown."""
    error: str
    """The code of IK502: `1` for a transaction that is not supported, `I6` for a version of the guide that is not."""
    text: str


def load_table(name: str) -> Any:
    """Return the content of one table."""
    return orjson.loads((_TABLES / f"{name}.json").read_bytes())


@lru_cache(maxsize=1)
def _load_directory() -> dict[str, Any]:
    table: dict[str, Any] = load_table("transactions")
    return table


@lru_cache(maxsize=1)
def _load_compiler() -> GrammarCompiler:
    return GrammarCompiler(load_table("elements"), load_table("segments"), load_table("codes"))


@lru_cache(maxsize=32)
def load_grammar(key: str) -> Grammar:
    """Return a grammar by its name, such as `270` or `278_request`. It is compiled once per process.

    Raises ValueError if there is none with this name.
    """
    if key not in _load_directory()["grammars"]:
        names = ", ".join(sorted(_load_directory()["grammars"]))
        raise ValueError(f"there is no grammar `{key}` (expected one of: {names})")
    entry = _load_directory()["grammars"][key]
    grammar = _load_compiler().compile(key, _load_transaction(key))
    grammar.code, grammar.versions, grammar.purposes = entry["code"], tuple(entry["versions"]), tuple(entry["purposes"])
    return grammar


def _load_transaction(key: str) -> dict[str, Any]:
    """Return the table of one transaction; if it is based on another, the other with its changes."""
    table: dict[str, Any] = load_table(key)
    if "based_on" not in table:
        return table
    based_on = _load_transaction(table["based_on"])
    for path, change in table["changes"].items():
        _find_in_table(based_on, path).update(change)
    return {**based_on, "name": table["name"]}


def _find_in_table(table: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a level or a segment of a table: `2000E`, `2000E/UM`, `BHT`."""
    *levels, name = path.split("/")
    if not levels and name in table["levels"]:
        level: dict[str, Any] = table["levels"][name]
        return level
    items = table["levels"][levels[0]]["items"] if levels else table["items"]
    return next(item for item in items if isinstance(item, dict) and item.get("segment") == name)


def list_grammars() -> list[str]:
    """Return the names of all grammars."""
    return sorted(_load_directory()["grammars"])


def list_unsupported() -> list[tuple[str, str]]:
    """Return the guides and transactions that are known by name and have no grammar, each with its name."""
    directory = _load_directory()
    supported = {grammar["code"] for grammar in directory["grammars"].values()}
    others = {code: name for code, name in directory["transactions"].items() if code not in supported}
    return sorted({**directory["guides"], **others}.items())


def find_grammar(code: str, version: str, segments: Sequence[X12Segment]) -> Grammar | UnsupportedSet:
    """Return the grammar for a set: by ST01, by ST03 and, where both are shared, by BHT02.

    If no grammar is for its BHT02, the first one is returned: its check of BHT02 then reports the value.
    """
    choices = _find_choices(code, version)
    if len(choices) == 1:
        return choices[0]
    if not choices:
        return _describe_unsupported(code, version)
    purpose = next((segment.raw(2) for segment in segments[:3] if segment.id == "BHT"), "")
    return next((grammar for grammar in choices if purpose in grammar.purposes), choices[0])


@lru_cache(maxsize=64)
def _find_choices(code: str, version: str) -> tuple[Grammar, ...]:
    grammars = _load_directory()["grammars"].items()
    return tuple(load_grammar(key) for key, entry in grammars if entry["code"] == code and version in entry["versions"])


def _describe_unsupported(code: str, version: str) -> UnsupportedSet:
    directory = _load_directory()
    name = directory["guides"].get(version) or directory["transactions"].get(code, "")
    supported = sorted(
        {v for grammar in directory["grammars"].values() if grammar["code"] == code for v in grammar["versions"]}
    )
    described = f"transaction {code} ({name})" if name else f"transaction `{code[:20]}`"
    if not supported:
        return UnsupportedSet(code, version, name, "1", f"{described} is not supported")
    if version in directory["guides"]:
        return UnsupportedSet(code, version, name, "I6", f"{described} is not supported")
    text = f"{described} in version `{version[:20]}` is not supported; use {' or '.join(supported)}"
    return UnsupportedSet(code, version, name, "I6", text)
