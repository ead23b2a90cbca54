"""Tests of HL7 dates and times."""

import pytest

from clerkship.formats.hl7.data_types import to_hl7_time


@pytest.mark.parametrize(
    ("iso", "written"),
    [
        ("2026", "2026"),
        ("2026-03", "202603"),
        ("2026-03-02", "20260302"),
        ("2026-03-02T09:00", "202603020900"),
        ("2026-03-02T09:00:00-05:00", "20260302090000-0500"),
        ("2026-03-02T09:00:00.000Z", "20260302090000+0000"),
        ("2026-03-02T09:00:00.250500+01:00", "20260302090000.2505+0100"),
    ],
)
def test_conversion_keeps_precision(iso: str, written: str) -> None:
    assert to_hl7_time(iso) == written


@pytest.mark.parametrize("text", ["", "soon", "2026-3-2", "20260302", "2026-03-02T9", "2026-03-02 \n"])
def test_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a date or time"):
        to_hl7_time(text)
