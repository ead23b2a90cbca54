"""The git commit that is checked out, read from git's files: a process would take longer than all else at a start."""

import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[^\s]+)")
MAX_PACKED_BYTES = 10_000_000
"""Bytes of the file of packed references; a larger one is not read."""


def read_commit(folder: Path) -> str:
    """Return the commit of the working tree that a folder is in; empty if there is none or it cannot be told."""
    try:
        git = _find_git(folder.resolve())
        return "" if git is None else _read_head(git)
    except (OSError, ValueError):
        return ""


def _find_git(folder: Path) -> Path | None:
    """Return git's folder; in a further worktree, that of this worktree."""
    for parent in (folder, *folder.parents):
        place = parent / ".git"
        if place.is_dir():
            return place
        if place.is_file():
            return parent / _read(place).removeprefix("gitdir: ")
    return None


def _read_head(git: Path) -> str:
    head = _read(git / "HEAD")
    reference = _REF.fullmatch(head)
    return _check(head) if reference is None else _read_reference(git, reference[1])


def _read_reference(git: Path, name: str) -> str:
    """Return the commit of a branch: from a file of its own, else from the packed ones."""
    shared = git / _read(git / "commondir") if (git / "commondir").is_file() else git
    for folder in (git, shared):
        if (folder / name).is_file():
            return _check(_read(folder / name))
    packed = shared / "packed-refs"
    if packed.is_file() and packed.stat().st_size <= MAX_PACKED_BYTES:
        for line in _read(packed).splitlines():
            commit, _, found = line.partition(" ")
            if found == name:
                return _check(commit)
    return ""


def _check(text: str) -> str:
    return text if _COMMIT.fullmatch(text) else ""


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip()
