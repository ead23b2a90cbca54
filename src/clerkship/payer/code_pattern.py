"""Patterns for codes in the config: one code, `721*`, or a range such as `72141-72158`; or a list of these."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema


def normalize_code(code: str) -> str:
    """Return a code in capitals, without spaces and dots: `m54.5` and `M545` are the same diagnosis."""
    return code.replace(".", "").replace(" ", "").upper()


def _parse_patterns(value: Any) -> Any:
    """Return a list of patterns; YAML reads `72148` as a number, which is meant as a code."""
    items = value if isinstance(value, list | tuple) else [value]
    texts = [str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in items]
    if not texts:
        raise ValueError("an empty list matches nothing")
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError("expected a code, a pattern such as 721*, a range such as 72141-72158, or a list of these")
    return tuple(texts)


CodePatterns = Annotated[
    tuple[str, ...],
    BeforeValidator(_parse_patterns),
    WithJsonSchema(
        {"anyOf": [{"type": ["string", "integer"]}, {"type": "array", "items": {"type": ["string", "integer"]}}]}
    ),
]


def matches_code(pattern: str, code: str) -> bool:
    """Return whether a code matches a pattern. A range covers codes of the same length."""
    wanted, code = normalize_code(pattern), normalize_code(code)
    if wanted == code:
        return True
    first, _, last = wanted.partition("-")
    # Both ends of a range end with a digit: `acme-gold` is the id of a plan.
    if len(first) == len(last) and first[-1:].isdigit() and last[-1:].isdigit():
        return len(code) == len(first) and first <= code <= last
    return fnmatchcase(code, wanted)


def matches_any_code(patterns: Sequence[str], codes: Sequence[str]) -> bool:
    """Return whether one of the codes matches one of the patterns."""
    return any(matches_code(pattern, code) for pattern in patterns for code in codes)
