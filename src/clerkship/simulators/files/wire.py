"""Paths and listings as they go over the wire."""

from collections.abc import Iterable
from typing import Any

from clerkship.sandbox.exchange import Refusal

LONGEST_PATH = 1024


def parse_path(text: str) -> str:
    """A path inside the drop: relative, without empty or dotted parts, printable."""
    parts = text.split("/")
    if len(text) > LONGEST_PATH or not text.isprintable() or any(part in ("", ".", "..") for part in parts):
        raise Refusal(400, "bad_path", "a path is relative, without empty, `.` or `..` parts, and at most 1024 long")
    return text


def parse_prefix(text: str) -> str:
    """Where a listing starts: a folder, with or without its slash, or nothing."""
    text = text.removesuffix("/")
    return f"{parse_path(text)}/" if text else ""


def render_listing(files: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """Paths and sizes, in order of path."""
    return {"files": [{"path": path, "size": size} for path, size in files]}
