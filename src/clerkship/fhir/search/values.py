"""The values of a search, each read as its parameter and modifier say (R4 §3.1.1.4)."""

import re
from collections.abc import Callable, Iterator
from typing import cast

from clerkship.fhir.issue import invalid
from clerkship.fhir.parameters import Parameter
from clerkship.fhir.resource import ID
from clerkship.fhir.search.query import Code, Link, Meaning, Measure, Moment, Prefix, Value, Word
from clerkship.fhir.search.spans import date_span, figure
from clerkship.fhir.search.terms import normal

MAX_VALUES_PER_PARAMETER = 1000
"""More alternatives of one parameter than this are refused: no honest question has as many."""
_PREFIX = re.compile(r"(eq|ne|gt|ge|lt|le|sa|eb|ap)?(.*)", re.DOTALL)
_UNESCAPED = re.compile(r"(T[\d:.]+) (\d\d:\d\d)")
"""A time whose zone was written with a bare `+`, which in a URL's query means a blank."""
_RELATIVE = re.compile(r"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/[A-Za-z0-9\-.]{1,64})?")


def split(text: str, mark: str) -> list[str]:
    """The parts between marks that no backslash stands before; backslashes are kept."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]


def plain(text: str) -> str:
    r"""A text without its escapes: `\,`, `\|`, `\$` and `\\` (R4 §3.1.1.4.1)."""
    return re.sub(r"\\([,|$\\])", r"\1", text) if "\\" in text else text


def alternatives(name: str, text: str) -> list[str]:
    """What stands between commas."""
    found = split(text, ",")
    if len(found) > MAX_VALUES_PER_PARAMETER:
        raise invalid(
            "too-costly", f"{name} has {len(found)} values; at most {MAX_VALUES_PER_PARAMETER} are looked for at once"
        )
    if not all(found):
        raise invalid("value", f"{name} has an empty value: leave the parameter out, or say what to look for")
    return found


def boolean(name: str, text: str) -> bool:
    """`true` or `false`."""
    if text not in {"true", "false"}:
        raise invalid("value", f"{name} is true or false, not {text!r}")
    return text == "true"


def read(name: str, parameter: Parameter, modifier: str, text: str, meaning: Meaning) -> Value:
    """One value of a parameter."""
    if parameter.type == "reference" and modifier != "identifier":
        return link(name, parameter, modifier, plain(text), meaning)
    if parameter.type == "date":
        return moment(name, text, meaning)
    return _READERS[parameter.type](name, modifier, text)


def _token(name: str, modifier: str, text: str) -> Value:
    if modifier == "text":
        return word(name, "", text)
    parts = [plain(part) for part in split(text, "|")]
    if modifier == "of-type":
        if len(parts) != 3 or not all(parts):
            raise invalid("value", f"{name} is system|code|value, all three of them")
        return Word(f"{parts[0]}|{parts[1].lower()}|{parts[2].lower()}", "same")
    if len(parts) > 2:
        raise invalid("value", f"{name} is code or system|code; write \\| for a | that belongs to it")
    if len(parts) == 1:
        return Code(None, parts[0].lower())
    if not any(parts):
        raise invalid("value", f"{name} says neither system nor code")
    return Code(parts[0], parts[1].lower() or None)


def word(name: str, modifier: str, text: str) -> Value:
    """A text to look for."""
    said = plain(text)
    if modifier == "exact":
        return Word(said, "same")
    looked = normal(said)
    if not looked:
        raise invalid("value", f"{name}: {said!r} has no letter or digit to look for")
    return Word(looked, "contains" if modifier == "contains" else "starts")


def _uri(name: str, modifier: str, text: str) -> Value:
    return Word(plain(text), "above" if modifier == "above" else "starts" if modifier == "below" else "same")


def _amount(name: str, modifier: str, text: str) -> Value:
    number, *unit = split(text, "|")
    if len(unit) not in {0, 2}:
        raise invalid("value", f"{name} is a number, or number|system|code: {text!r} is neither")
    prefix, digits = _prefixed(number)
    try:
        value, low, high = figure(digits)
    except ValueError as error:
        raise invalid("value", f"{name}: {error}") from None
    if prefix == "ap":
        low, high = min(low, value - abs(value) * 0.1), max(high, value + abs(value) * 0.1)
    system, code = (plain(part) or None for part in unit) if unit else (None, None)
    return Measure(prefix, value, low, high, system, code)


def _number(name: str, modifier: str, text: str) -> Value:
    if "|" in text:
        raise invalid("value", f"{name} is a number without a unit, not {text!r}")
    return _amount(name, modifier, text)


def moment(name: str, text: str, meaning: Meaning) -> Moment:
    """A date with its prefix; `ap` is a tenth of the way to now, where now is known (R4 §3.1.1.4.5)."""
    prefix, written = _prefixed(plain(text))
    try:
        low, high = date_span(_UNESCAPED.sub(r"\1+\2", written), meaning.zone)
    except ValueError as error:
        raise invalid("value", f"{name}: {error}") from None
    if prefix == "ap" and meaning.now is not None:
        margin = max(abs(meaning.now - low), abs(meaning.now - high)) // 10
        return Moment(prefix, low - margin, high + margin)
    return Moment(prefix, low, high)


def _prefixed(text: str) -> tuple[Prefix, str]:
    found = _PREFIX.fullmatch(text)
    assert found is not None
    return cast(Prefix, found[1] or "eq"), found[2]


def link(name: str, parameter: Parameter, modifier: str, text: str, meaning: Meaning) -> Link:
    """A reference: `42`, `Patient/42`, an address here or elsewhere, a canonical URL with or without its version."""
    if meaning.base and text.startswith(meaning.base.rstrip("/") + "/"):
        text = text[len(meaning.base.rstrip("/")) + 1 :]
    found = _RELATIVE.fullmatch(text)
    if found is not None:
        if modifier and found[1] != modifier:
            raise invalid("value", f"{name} looks for a {modifier}, and {text} is none")
        return Link(tuple(_spelled([f"{found[1]}/{found[2]}"], meaning)))
    if ID.fullmatch(text):
        types = [modifier] if modifier else sorted(parameter.targets)
        return Link((*_spelled((f"{type}/{text}" for type in types), meaning), text))
    if ":" in text:
        return Link((text,))
    raise invalid("value", f"{name} is an id, Type/id or an address; {text!r} is none of them")


def _spelled(keys: "Iterator[str] | list[str]", meaning: Meaning) -> Iterator[str]:
    for key in keys:
        yield key
        if meaning.base:
            yield f"{meaning.base.rstrip('/')}/{key}"


_READERS: dict[str, Callable[[str, str, str], Value]] = {
    "token": _token,
    "reference": _token,  # by identifier alone: the rest needs to know the parameter
    "string": word,
    "uri": _uri,
    "number": _number,
    "quantity": _amount,
}
