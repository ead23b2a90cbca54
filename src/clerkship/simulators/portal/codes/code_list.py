"""Lists of procedure and diagnosis codes: find a code, say what is wrong with it on a day, search by words."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.payer.code_pattern import normalize_code
from clerkship.simulators.portal.views import CodeRow
from clerkship.text.folding import fold_words

MAX_MATCHES = 25
"""Codes that a search shows."""
MAX_SUGGESTIONS = 6
"""Codes that a message names."""
MAX_SEARCH_WORDS = 10
_FOLDER = Path(__file__).parent


class ListedCode(NamedTuple):
    """A code of a list."""

    code: str
    """As it is shown: capitals, a diagnosis with its dot."""
    description: str
    end: date | None = None
    """The last day on which it may be used."""
    replacements: tuple[str, ...] = ()
    """What is used instead, after that."""

    def has_ended(self, day: date) -> bool:
        """Return whether it may not be used any more on a day."""
        return self.end is not None and day > self.end

    def describe_end(self) -> str:
        """Return when it ended and what to use instead; empty if it has no end."""
        if self.end is None:
            return ""
        instead = f" Use {join_codes(self.replacements)}." if self.replacements else ""
        return f"Ended on {self.end:%m/%d/%Y}.{instead}"


class CodeList:
    """All codes of a kind."""

    def __init__(self, kind: str, codes: Sequence[ListedCode]) -> None:
        self._kind = kind
        """`procedure` or `diagnosis`."""
        self._codes = {normalize_code(each.code): each for each in sorted(codes)}

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[ListedCode]:
        return iter(self._codes.values())

    @property
    def codes(self) -> list[ListedCode]:
        """All codes, in their order."""
        return list(self._codes.values())

    def find(self, code: str) -> ListedCode | None:
        """Return a code, written with or without the dot and in any case; None if it is not in the list."""
        return self._codes.get(normalize_code(code))

    def describe(self, code: str) -> str:
        """Return the description of a code; empty if it is not in the list."""
        listed = self.find(code)
        return listed.description if listed is not None else ""

    def find_problem(self, code: str, day: date) -> str:
        """Return why a code cannot be used on a day, in words that say what to do; empty if it can be used."""
        typed = normalize_code(code)
        if not typed:
            return f"Enter a {self._kind} code."
        listed = self._codes.get(typed)
        if listed is not None:
            return f"{listed.code}: {listed.describe_end()}" if listed.has_ended(day) else ""
        longer = [each for key, each in self._codes.items() if key.startswith(typed) and not each.has_ended(day)]
        if longer and self._kind == "diagnosis" and len(typed) >= 3:
            shown = join_codes([each.code for each in longer[:MAX_SUGGESTIONS]])
            choice = f"Choose {shown}" if len(longer) <= MAX_SUGGESTIONS else f"Choose a longer one, such as {shown}"
            return f"{_shorten(code)} is not a complete diagnosis code. {choice}."
        return f"{_shorten(code)} is not a known {self._kind} code. Check it, or search by words."

    def search(self, text: str, day: date) -> list[CodeRow]:
        """Return the codes that begin with a text, then those whose descriptions have all of its words or beginnings of
        words; in the order of the codes, at most MAX_MATCHES. Codes that ended come last, with a note.
        """
        typed, words = normalize_code(text), fold_words(text)[:MAX_SEARCH_WORDS]
        if not typed or not words:
            return []
        matches = [
            (each.has_ended(day), not key.startswith(typed), each)
            for key, each in self._codes.items()
            if key.startswith(typed) or self._has_words(key, words)
        ]
        return [
            CodeRow(each.code, each.description, each.describe_end() if has_ended else "")
            for has_ended, _, each in sorted(matches)[:MAX_MATCHES]
        ]

    def _has_words(self, key: str, words: Sequence[str]) -> bool:
        return all(any(own.startswith(word) for own in self._words[key]) for word in words)

    @cached_property
    def _words(self) -> dict[str, tuple[str, ...]]:
        return {key: tuple(fold_words(each.description)) for key, each in self._codes.items()}


def load_procedures(added: Mapping[str, str]) -> CodeList:
    """Return the procedure codes that ship, and those of the config with their descriptions, which come first."""
    return _load_list("procedure", tuple(sorted(added.items())))


def load_diagnoses() -> CodeList:
    """Return the diagnosis codes that ship."""
    return _load_list("diagnosis", ())


def join_codes(codes: Sequence[str]) -> str:
    """Return codes as in a sentence: `M54.50, M54.51 or M54.59`."""
    return " or ".join(filter(None, (", ".join(codes[:-1]), codes[-1]))) if codes else ""


@cache
def _load_list(kind: str, added: tuple[tuple[str, str], ...]) -> CodeList:
    own = [ListedCode(normalize_code(code), description) for code, description in added]
    taken = {each.code for each in own}
    return CodeList(kind, [*own, *(each for each in _read_codes(kind) if each.code not in taken)])


@cache
def _read_codes(kind: str) -> tuple[ListedCode, ...]:
    name = {"procedure": "procedures", "diagnosis": "diagnoses"}[kind]
    table: dict[str, Any] = orjson.loads((_FOLDER / f"{name}.json").read_bytes())
    ended = (
        ListedCode(code, row["description"], date.fromisoformat(row["end"]), tuple(row["replacements"]))
        for code, row in table["ended"].items()
    )
    return (*(ListedCode(code, description) for code, description in table["codes"].items()), *ended)


def _shorten(code: str) -> str:
    """Return what was typed, as a message repeats it."""
    typed = " ".join(code.split())
    return typed if len(typed) <= 20 else f"{typed[:20]}…"
