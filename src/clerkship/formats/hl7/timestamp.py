"""HL7 dates and times (DTM): `20260302`, `20260302090000-0500`."""

import re

_ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?", re.ASCII
)


def to_hl7_time(text: str) -> str:
    """Convert an ISO 8601 date or time, with the same precision. Raises ValueError if it is not one."""
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError("expected a date or time such as 2026-03-02 or 2026-03-02T09:00:00-05:00")
    *digits, fraction, zone = match.groups("")
    part = fraction[:5].rstrip("0").rstrip(".")
    return "".join(digits) + part + ("+0000" if zone == "Z" else zone.replace(":", ""))
