"""Functions on text (FHIRPath 2.0, 5.6)."""

import base64
import binascii
import html
import json
import operator
import re
from collections.abc import Callable
from typing import Any

from clerkship.formats.fhir.evaluation.collection import EvaluationError, Node, get_single, to_system_value
from clerkship.formats.fhir.evaluation.function_call import FhirPathFunction, FunctionCall
from clerkship.model import pattern

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", **{sign: sign for sign in "'\"`/\\"}}
_GROUP = re.compile(r"\$(?:(\d+)|\{(\w+)\})")
_URL_BASE64 = ("urlbase64", "base64url")
SINGLE_LINE = "(?s)"


def unquote(literal: str) -> str:
    """Return the text of a string literal."""

    def replaced(matched: re.Match[str]) -> str:
        code = matched[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, matched[0])

    return _ESCAPE.sub(replaced, literal[1:-1])


def _get_text(call: FunctionCall) -> str | None:
    """Return the text that a function is called on; a date of a resource is text too."""
    get_single(call.input, call.label)
    item = call.input[0] if call.input else None
    value = item.value if isinstance(item, Node) else item
    if value is not None and not isinstance(value, str):
        raise EvaluationError(
            f"{call.label} expects text, not {'an element' if isinstance(item, Node) else f'`{item}`'}"
        )
    return value


def _on_text(evaluate: Callable[..., Any], count: int = 0) -> FhirPathFunction:
    """Build a function of a text and texts; empty where one of them is."""

    def checked(call: FunctionCall) -> Any:
        values = [_get_text(call), *(call.text(place) for place in range(count))]
        return None if None in values else evaluate(*values)

    return FhirPathFunction(checked, (count,))


def _substring(call: FunctionCall) -> str | None:
    text, start, length = _get_text(call), call.integer(0), call.integer(1)
    if text is None or start is None or not 0 <= start < len(text):
        return None
    return text[start:] if length is None else text[start : start + max(0, length)]


def _matches_full(text: str, pattern_text: str) -> bool:
    return pattern.has_match(rf"{SINGLE_LINE}\A(?:{pattern_text})\Z", text)


def _replace_matches(text: str, pattern_text: str, replacement: str) -> str:
    if not pattern_text:
        return text
    compiled = pattern.compile_pattern(SINGLE_LINE + pattern_text)

    def substitute(matched: Any) -> str:
        return _GROUP.sub(lambda group: matched[int(group[1]) if group[1] else group[2]] or "", replacement)

    try:
        return compiled.sub(substitute, text, timeout=pattern.TIME_LIMIT)
    except TimeoutError:
        raise pattern.PatternTooSlow(f"the pattern {pattern_text!r} took over {pattern.TIME_LIMIT:g} s") from None
    except IndexError:
        raise EvaluationError(
            f"`replaceMatches()`: {replacement!r} names a group that {pattern_text!r} does not have"
        ) from None


def _join(call: FunctionCall) -> str | None:
    values = [to_system_value(item) for item in call.input]
    if not all(isinstance(value, str) for value in values):
        raise EvaluationError("`join()` expects text alone")
    return (call.text(0) or "").join(values) if values else None


def _encode(text: str, form: str) -> str | None:
    data = text.encode()
    if form == "hex":
        return data.hex()
    if form == "base64":
        return base64.b64encode(data).decode()
    return base64.urlsafe_b64encode(data).decode() if form in _URL_BASE64 else None


def _decode(text: str, form: str) -> str | None:
    try:
        if form == "hex":
            return bytes.fromhex(text).decode()
        if form == "base64":
            return base64.b64decode(text).decode()
        return base64.urlsafe_b64decode(text).decode() if form in _URL_BASE64 else None
    except (ValueError, binascii.Error):
        raise EvaluationError(f"`decode()`: {text[:40]!r} is not {form}") from None


def _escape(text: str, form: str) -> str | None:
    return {"html": html.escape(text), "json": json.dumps(text, ensure_ascii=False)[1:-1]}.get(form)


def _unescape(text: str, form: str) -> str | None:
    return html.unescape(text) if form == "html" else unquote(f"'{text}'") if form == "json" else None


def _matches(text: str, pattern_text: str) -> bool:
    return pattern.has_match(SINGLE_LINE + pattern_text, text)


TEXT_FUNCTIONS = {
    "indexOf": _on_text(str.find, 1),
    "lastIndexOf": _on_text(str.rfind, 1),
    "substring": FhirPathFunction(_substring, (1, 2)),
    "startsWith": _on_text(str.startswith, 1),
    "endsWith": _on_text(str.endswith, 1),
    "contains": _on_text(operator.contains, 1),
    "upper": _on_text(str.upper),
    "lower": _on_text(str.lower),
    "replace": _on_text(str.replace, 2),
    "matches": _on_text(_matches, 1),
    "matchesFull": _on_text(_matches_full, 1),
    "replaceMatches": _on_text(_replace_matches, 2),
    "length": _on_text(len),
    "toChars": _on_text(list),
    "trim": _on_text(str.strip),
    "split": _on_text(str.split, 1),
    "join": FhirPathFunction(_join, (0, 1)),
    "encode": _on_text(_encode, 1),
    "decode": _on_text(_decode, 1),
    "escape": _on_text(_escape, 1),
    "unescape": _on_text(_unescape, 1),
}
PATTERN_FUNCTIONS = frozenset({"matches", "matchesFull", "replaceMatches"})
