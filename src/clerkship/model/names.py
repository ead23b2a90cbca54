"""Names that users type: `-` and `_` are equivalent, and a wrong name gets the nearest known one as a hint."""

from collections.abc import Iterable
from difflib import get_close_matches


def canonical_name(name: str) -> str:
    """Return a name with `_` for each `-`, so that `sftp-file-present` equals `sftp_file_present`."""
    return name.replace("-", "_")


_WRITE_VERBS = ("put", "drop", "write")
_SYNONYMS: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("create", "add", "insert", "upsert", "update", "set", "write", "put", "store"), _WRITE_VERBS
)
_SYNONYMS |= dict.fromkeys(("remove", "destroy", "drop"), ("delete",)) | {"change": ("patch",), "edit": ("patch",)}
"""Verbs of other tools for the last part of a dotted name, which are not similar in spelling."""


def _find_synonym(name: str, known: Iterable[str]) -> str | None:
    kind, _, verb = name.lower().rpartition(".")
    return next((f"{kind}.{same}" for same in _SYNONYMS.get(verb, ()) if kind and f"{kind}.{same}" in known), None)


def find_nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to this one; None if none is similar."""
    lowered = {candidate.lower(): candidate for candidate in sorted(known)}
    synonym = _find_synonym(name, lowered)
    if synonym is not None:
        return lowered[synonym]
    matches = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint for an error message: the nearest name, or all known names if there are few."""
    names = sorted(known)
    close = find_nearest_name(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    if 0 < len(names) <= 12:
        return "known: " + ", ".join(names)
    return ""


def find_matching_names(part: str, names: Iterable[str]) -> list[str]:
    """Return the name itself if it is known; otherwise all names that contain it, ignoring case."""
    known = list(names)
    return [part] if part in known else [name for name in known if part.lower() in name.lower()]
