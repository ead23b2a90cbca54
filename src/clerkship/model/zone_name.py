"""The name of a time zone, as in the IANA time zone database."""

from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Strict


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"unknown time zone {name[:60]!r} (expected: a name of the system's time zone database, "
            "such as America/New_York)"
        ) from None
    return name


ZoneName = Annotated[str, Strict(), AfterValidator(_check_zone)]
"""The name of a zone that the system knows."""
