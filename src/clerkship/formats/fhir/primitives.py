"""The primitive types of R4 (§2.24.0.1): a test of JSON values and a description for each."""

import re
from binascii import a2b_base64
from calendar import monthrange
from collections.abc import Callable
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from clerkship.formats.fhir.exact import Decimal
from clerkship.formats.fhir.narrative import is_valid_narrative

PrimitiveTest = Callable[[Any], bool]
MAX_STRING_LENGTH = 1024 * 1024
"""Characters in a string (R4 §2.24.0.1)."""

_YEAR = r"(?!0000)[0-9]{4}"
_MONTH = r"-(?:0[1-9]|1[0-2])"
_DAY = r"-(?:0[1-9]|[12][0-9]|3[01])"
_HOUR = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"


def _text_matching(pattern: str, flags: int = 0) -> PrimitiveTest:
    matches = re.compile(pattern, flags).fullmatch
    return lambda value: isinstance(value, str) and matches(value) is not None


def _date_matching(pattern: str) -> PrimitiveTest:
    matches = re.compile(pattern).fullmatch
    return lambda value: (
        isinstance(value, str) and matches(value) is not None and (value[8:10] < "29" or _is_existing_day(value))
    )


def _is_existing_day(value: str) -> bool:
    return int(value[8:10]) <= monthrange(int(value[:4]), int(value[5:7]))[1]


def _integer_from(least: int) -> PrimitiveTest:
    return lambda value: type(value) is int and least <= value < 2**31


def _is_boolean(value: Any) -> bool:
    return value is True or value is False


def _is_decimal(value: Any) -> bool:
    kind = type(value)
    return kind is int or kind is Decimal or (kind is float and -inf < value < inf)


def _is_base64(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    packed = "".join(value.split())
    try:
        a2b_base64(packed, strict_mode=True)
    except ValueError:
        return False
    return bool(packed)


class Primitive(NamedTuple):
    """A primitive type."""

    test: PrimitiveTest
    json: str
    """The JSON type."""
    description: str


_TEXT = "text without control characters, at most 1,048,576 characters"
_string = _text_matching(rf"[^\x00-\x08\x0b\x0c\x0e-\x1f]{{1,{MAX_STRING_LENGTH}}}")
# R4's patterns come from XML, so white space is ASCII only.
_code = _text_matching(r"[^\s\x00-\x1f]+(?:\s[^\s\x00-\x1f]+)*", re.ASCII)
_uri = _text_matching(r"[^\s\x00-\x1f]+", re.ASCII)
_id = _text_matching(r"[A-Za-z0-9\-.]{1,64}")
_oid = _text_matching(r"urn:oid:[0-2](?:\.(?:0|[1-9][0-9]*))+")
_uuid = _text_matching(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_date = _date_matching(f"{_YEAR}(?:{_MONTH}(?:{_DAY})?)?")
_date_time = _date_matching(f"{_YEAR}(?:{_MONTH}(?:{_DAY}(?:T{_HOUR}{_ZONE})?)?)?")
_instant = _date_matching(f"{_YEAR}{_MONTH}{_DAY}T{_HOUR}{_ZONE}")
_time = _text_matching(_HOUR)

PRIMITIVES = MappingProxyType(
    {
        "base64Binary": Primitive(_is_base64, "string", "base64 (RFC 4648)"),
        "boolean": Primitive(_is_boolean, "boolean", "true or false"),
        "canonical": Primitive(_uri, "string", "a URI, without spaces"),
        "code": Primitive(_code, "string", "a code: no leading, trailing or repeated spaces"),
        "date": Primitive(_date, "string", "an existing date: YYYY, YYYY-MM or YYYY-MM-DD"),
        "dateTime": Primitive(
            _date_time, "string", "an existing date, with seconds and zone if it has a time: 2024-02-29T08:30:00+01:00"
        ),
        "decimal": Primitive(_is_decimal, "number", "a number"),
        "id": Primitive(_id, "string", "an id: 1 to 64 of A-Z a-z 0-9 - ."),
        "instant": Primitive(_instant, "string", "an instant, to the second and with a zone: 2024-02-29T08:30:00Z"),
        "integer": Primitive(_integer_from(-(2**31)), "number", "a 32-bit integer"),
        "markdown": Primitive(_string, "string", _TEXT),
        "oid": Primitive(_oid, "string", "an OID: urn:oid:1.2.3"),
        "positiveInt": Primitive(_integer_from(1), "number", "an integer from 1 to 2147483647"),
        "string": Primitive(_string, "string", _TEXT),
        "time": Primitive(_time, "string", "a time of day, without zone: 08:30:00"),
        "unsignedInt": Primitive(_integer_from(0), "number", "an integer from 0 to 2147483647"),
        "uri": Primitive(_uri, "string", "a URI, without spaces"),
        "url": Primitive(_uri, "string", "a URL, without spaces"),
        "uuid": Primitive(_uuid, "string", "a UUID in small letters: urn:uuid:c757873d-ec9a-4326-a141-556f43239520"),
        "xhtml": Primitive(is_valid_narrative, "string", "XHTML"),
    }
)
