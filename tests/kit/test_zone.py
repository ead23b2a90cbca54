"""Times in a zone that is given by its offset."""

from datetime import UTC, datetime

import pytest

from clerkship.kit.zone import format_named, format_short, name_zone

AT = datetime(2026, 3, 2, 2, 30, 15, 999_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "short", "named"),
    [
        (0, "2026-03-02 02:30:15Z", "2026-03-02 02:30:15 UTC"),
        (-300, "2026-03-01 21:30:15-05:00", "2026-03-01 21:30:15 UTC-05:00"),
        (-210, "2026-03-01 23:00:15-03:30", "2026-03-01 23:00:15 UTC-03:30"),
        (345, "2026-03-02 08:15:15+05:45", "2026-03-02 08:15:15 UTC+05:45"),
    ],
)
def test_time_is_local_and_its_zone_is_named(minutes: int, short: str, named: str) -> None:
    assert format_short(AT, minutes) == short
    assert format_named(AT, minutes) == named
    assert named.endswith(name_zone(minutes))
