"""JSON that is safe inside an HTML page, whatever its strings contain."""

from typing import Any

import orjson

# In JSON these characters occur inside strings only, where an escape means the same. Without them nothing can close
# the script element or open a comment in it (HTML, 4.12.1.3), and the line separators are safe for old parsers.
_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}


def render_json(value: Any) -> bytes:
    """Return compact JSON that is safe to embed."""
    data = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    for character, escape in _ESCAPES.items():
        data = data.replace(character, escape)
    return data


def embed_json(data: bytes) -> orjson.Fragment:
    """Return the output of `render_json` as a part of a larger value."""
    return orjson.Fragment(data)


def clip(value: Any, limit: int) -> Any:
    """Cut a value that is too long to show; a value that is not text becomes text."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]} … ({len(value):,} characters)"
    if isinstance(value, int | float | None):
        return value
    text = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    return value if len(text) <= limit else clip(text.decode(), limit)
