"""Recognise the files of a folder by their top-level keys, mostly without parsing them."""

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

TEST_KEYS = frozenset({"fixtures", "metadata", "stub_custom_actions", "test_cases"})
"""Top-level keys of another tool's test files."""
_CONFTEST_KEYS = frozenset({"simulation", "evaluation", "llm_judge"})
"""Top-level keys that belong to the library only in a conftest."""
_AMBIGUOUS_KEYS = frozenset({"fixtures", "metadata"})
"""Top-level keys that files of other tools have too, such as manifests of Kubernetes."""
_DEFINITION_KEYS = frozenset(
    ("task", "tasks", "scenario", "environment", "environments", "dataset", "datasets", "benchmark", "benchmarks"),
).union(("persona", "personas", "labelled"))
PLURAL_KEYS = frozenset({"tasks", "environments", "datasets", "benchmarks", "personas"})
"""Top-level keys with a list of definitions."""
OWN_KEYS = TEST_KEYS | _CONFTEST_KEYS | _DEFINITION_KEYS
"""Top-level keys of the files that the library reads."""
_MISSPELT_KEYS = sorted({*_DEFINITION_KEYS, "test_cases"})
"""Keys that a misspelt key is compared with."""
_SCENARIO_KEYS = frozenset(
    ("name", "simulation_context", "type", "setup", "goals", "tags", "timeout", "environment", "solution", "version")
).union(("wrong", "ways"))
_MISSING_KEYS = {"task": frozenset({"criteria", "task_item"}), "environment": frozenset({"simulators"})}
"""Keys that definitions have inside, by the top-level key that is missing if they are not inside."""
_INNER_KEYS = frozenset({"simulation_context", "goals"}).union(*_MISSING_KEYS.values())
"""Keys that only definitions have inside."""
_MAX_BYTES = 50_000_000
_KEY_PATTERN = rb"""["']?([A-Za-z_][A-Za-z0-9_-]*)["']?[ \t]*:(?:[ \t\r]|$)"""
_TOP_KEY = re.compile(rb"^" + _KEY_PATTERN, re.MULTILINE)
_FIRST_KEY = re.compile(rb"\A(?:[ \t]*(?:#[^\n]*|---[ \t]*)?\r?\n)*[\s{]*" + _KEY_PATTERN, re.MULTILINE)
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONFTEST_STEM = "conftest"
_MAX_LENGTH_WITH_ONE_EDIT = 5
_MAX_EDITS = 2


def top_keys(path: Path) -> set[str]:
    """Return the top-level keys of a YAML file without parsing it, so that mistakes in it do not matter."""
    return {key.decode() for key in _TOP_KEY.findall(_read_bytes(path))}


def find_key_line(path: Path, key: str) -> int:
    """Return the line of a top-level key in a file; 0 if it cannot be determined."""
    data = _read_bytes(path)
    match = next((match for match in _TOP_KEY.finditer(data) if match[1].decode() == key), None)
    return data.count(b"\n", 0, match.start()) + 1 if match is not None else 0


def begins_with_own_key(path: Path) -> bool:
    """Return whether the first key of a file, which may be indented or in braces, is one that the library reads."""
    first = _FIRST_KEY.match(_read_bytes(path))
    return first is not None and has_own_keys(path, {first[1].decode()})


def _read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; empty if it cannot be read or is too large. Keys in UTF-16 become ASCII."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return b""
        data = path.read_bytes()
    except OSError:
        return b""
    for mark in _BYTE_ORDER_MARKS:
        data = data.removeprefix(mark)
    return data.replace(b"\0", b"")


def has_own_keys(path: Path, keys: Collection[str]) -> bool:
    """Return whether a file with these top-level keys is for the library to read."""
    known = set(keys)
    if known & (OWN_KEYS - _AMBIGUOUS_KEYS - _CONFTEST_KEYS):
        return True
    if path.stem == _CONFTEST_STEM:
        return bool(known & (_CONFTEST_KEYS | _AMBIGUOUS_KEYS))
    return bool(known & _AMBIGUOUS_KEYS) and all(
        key in TEST_KEYS | _CONFTEST_KEYS or find_near_key(key) for key in known
    )


def is_test_file_by_keys(keys: Collection[str]) -> bool:
    """Return whether a file with these top-level keys contains tests of another tool."""
    return not TEST_KEYS.isdisjoint(keys) and _DEFINITION_KEYS.isdisjoint(keys)


def find_missing_key(keys: Collection[str]) -> str | None:
    """Return the top-level key that is missing in a file with these keys, if they belong below it."""
    known = set(keys)
    if known & (_DEFINITION_KEYS - {"environment"}) or "test_cases" in known:
        return None
    if "simulation_context" in known or (known & {"setup", "goals"} and known <= _SCENARIO_KEYS):
        return "scenario"
    return next((key for key, inside in _MISSING_KEYS.items() if "name" in known and known & inside), None)


def find_misused_key(data: Any) -> str | None:
    """Return a key of ours that a file of another tool uses for something else, such as `environment: production`.

    Such a file has keys of the other tool too, a definition under none of ours, and no key that belongs inside one.
    """
    keys = [key for key in data if isinstance(key, str)] if isinstance(data, dict) else []
    own = [key for key in keys if key in OWN_KEYS]
    others = set(keys) - set(own)
    if not others or others & _INNER_KEYS or any(map(find_near_key, others)) or not _DEFINITION_KEYS.issuperset(own):
        return None
    return own[0] if own and not any(_can_define(key, data[key]) for key in own) else None


def _can_define(key: str, value: Any) -> bool:
    return value is None or key == "labelled" or isinstance(value, list if key in PLURAL_KEYS else dict)


@lru_cache(maxsize=1000)
def find_near_key(key: str) -> str | None:
    """Return the key of ours that a key is a misspelling of, if any."""
    lowered = key.lower().replace("-", "_")
    limit = 1 if len(lowered) <= _MAX_LENGTH_WITH_ONE_EDIT else _MAX_EDITS
    likely = [own for own in _MISSPELT_KEYS if len(set(lowered) ^ set(own)) <= 2 * limit]
    near = [(_count_edits(lowered, own), own) for own in likely if abs(len(own) - len(lowered)) <= limit]
    edits, nearest = min(near, default=(limit + 1, ""))
    return nearest if edits <= limit else None


def _count_edits(one: str, other: str) -> int:
    """Return the number of letters to add, remove, change or exchange with the next one to make two texts equal."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                edits = min(edits, older[j - 2] + 1)
            row.append(edits)
    return row[-1]
