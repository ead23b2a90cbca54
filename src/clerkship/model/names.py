"""Names as people type them: one spelling for `-` and `_`, and the nearest known name to a wrong one."""

from collections.abc import Iterable
from difflib import get_close_matches


def canonical_name(name: str) -> str:
    """`sftp-file-present` and `sftp_file_present` are one name."""
    return name.replace("-", "_")


_WRITE_VERBS = ("put", "drop", "write")
_SYNONYMS: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("create", "add", "insert", "upsert", "update", "set", "write", "put", "store"), _WRITE_VERBS
)
_SYNONYMS |= dict.fromkeys(("remove", "destroy", "drop"), ("delete",)) | {"change": ("patch",), "edit": ("patch",)}
"""Verbs that others have for what a name with a dot says: their letters are not alike."""


def _find_synonym(name: str, known: Iterable[str]) -> str | None:
    kind, _, verb = name.lower().rpartition(".")
    return next((f"{kind}.{same}" for same in _SYNONYMS.get(verb, ()) if kind and f"{kind}.{same}" in known), None)


def find_nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one, if any is like it at all."""
    lowered = {candidate.lower(): candidate for candidate in sorted(known)}
    meant = _find_synonym(name, lowered)
    if meant is not None:
        return lowered[meant]
    found = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A closing sentence for an error: the nearest name, or the few that exist."""
    names = sorted(known)
    close = find_nearest_name(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    if 0 < len(names) <= 12:
        return "known: " + ", ".join(names)
    return ""


def find_matching_names(part: str, names: Iterable[str]) -> list[str]:
    """The name itself if there is one; else those it is a part of, small letters or large."""
    known = list(names)
    return [part] if part in known else [name for name in known if part.lower() in name.lower()]
