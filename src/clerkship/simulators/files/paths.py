"""Validation of paths in a drop."""

from unicodedata import category

from clerkship.sandbox.request import Refusal

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 1024
"""Limits in bytes of UTF-8, as in file systems."""
CONTROL_CHARACTERS = "a path must not contain control characters or line ends"
_FORBIDDEN_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, surrogates, and line and paragraph separators."""


def parse_path(text: str) -> str:
    """Return a valid relative path; else refuse it.

    Case matters. Unicode is not normalized, so one name composed in two ways is two names.
    """
    flaw = _find_flaw(text)
    if flaw:
        raise Refusal(400, "bad_path", flaw)
    return text


def check_path(text: str) -> str:
    """Return a valid relative path. Raises ValueError for paths in files."""
    flaw = _find_flaw(text)
    if flaw:
        raise ValueError(flaw)
    return text


def _find_flaw(text: str) -> str:
    """Return what is wrong with a path; empty if nothing is."""
    parts = text.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "a path must be relative, without empty, `.` or `..` parts"
    if not text.isprintable() and any(category(char) in _FORBIDDEN_CATEGORIES for char in text):
        return CONTROL_CHARACTERS
    long = len(text) * 4 > MAX_NAME_BYTES  # only then can it be too long
    if long and (len(text.encode()) > MAX_PATH_BYTES or any(len(part.encode()) > MAX_NAME_BYTES for part in parts)):
        return f"a name may have {MAX_NAME_BYTES} bytes, and a path {MAX_PATH_BYTES}"
    return ""


def parse_folder(text: str) -> str:
    """Return the path of a folder, given with or without a trailing slash; empty for the root."""
    text = text.removesuffix("/")
    return parse_path(text) if text else ""
