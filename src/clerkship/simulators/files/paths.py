"""The rules of paths in a drop."""

from unicodedata import category

from clerkship.sandbox.request import Refusal

MAX_NAME = 255
MAX_PATH = 1024
"""Bytes in UTF-8, as file systems count."""
CONTROL = "a path has no control characters, and none that end a line"
_UNFIT = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, halves of characters, and what ends a line."""


def parse_path(text: str) -> str:
    """A path inside the drop: relative, of names as file systems have them. Case matters; Unicode is left as it comes,
    so that one name composed in two ways is two names."""
    flaw = _flaw(text)
    if flaw:
        raise Refusal(400, "bad_path", flaw)
    return text


def check_path(text: str) -> str:
    """The same for what stands in a file: raises ValueError."""
    flaw = _flaw(text)
    if flaw:
        raise ValueError(flaw)
    return text


def _flaw(text: str) -> str:
    """What is wrong with a path, if anything."""
    parts = text.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "a path is relative, without empty, `.` or `..` parts"
    if not text.isprintable() and any(category(char) in _UNFIT for char in text):
        return CONTROL
    long = len(text) * 4 > MAX_NAME  # only then can it be too long
    if long and (len(text.encode()) > MAX_PATH or any(len(part.encode()) > MAX_NAME for part in parts)):
        return f"a name has at most {MAX_NAME} bytes, and a path {MAX_PATH}"
    return ""


def parse_folder(text: str) -> str:
    """A folder, with or without its slash; nothing is the outermost."""
    text = text.removesuffix("/")
    return parse_path(text) if text else ""
