"""Shifting dates: every date at its precision, and nothing else."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.formats.fhir.date_shift import shift_date, shift_dates
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import parse_resource, render_resource
from clerkship.formats.fhir.validation import validate

DAYS = st.integers(-40_000, 40_000)
WHOLE = st.dates(date(1850, 1, 1), date(2150, 12, 31))
TIMES = st.sampled_from(["", "T00:00:00Z", "T23:59:60-11:30", "T09:15:00.123456+14:00"])


@pytest.mark.parametrize(
    ("text", "days", "later"),
    [
        ("2024-02-28", 1, "2024-02-29"),
        ("2024-02-28T23:59:59.999-05:00", 2, "2024-03-01T23:59:59.999-05:00"),
        ("2024", 366, "2025"),
        ("2024", 100, "2024"),
        ("2024-12", 31, "2025-01"),
        ("2024-01", -31, "2023-12"),
        ("1965-03-15", 0, "1965-03-15"),
        ("not a date", 5, "not a date"),
    ],
)
def test_date_is_shifted_at_its_precision(text: str, days: int, later: str) -> None:
    assert shift_date(text, days) == later


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12", "9999", "2021-02-30"])
def test_date_that_cannot_be_shifted_raises_an_error(text: str) -> None:
    with pytest.raises(FhirError, match="cannot be moved by 400 days"):
        shift_date(text, 400)


@given(WHOLE, TIMES, DAYS)
def test_shifting_back_restores_the_date(day: date, time: str, days: int) -> None:
    text = day.isoformat() + time
    later = shift_date(text, days)
    assert later[10:] == time
    assert date.fromisoformat(later[:10]) == day + timedelta(days=days)
    assert shift_date(later, -days) == text
    for precision in (4, 7):
        assert shift_date(shift_date(text[:precision], days), -days) == text[:precision]


@given(WHOLE, WHOLE, DAYS)
def test_shifting_keeps_order_and_distance(one: date, other: date, days: int) -> None:
    a, b = (date.fromisoformat(shift_date(each.isoformat(), days)) for each in (one, other))
    assert b - a == other - one


CHART: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "2024-01-01",
    "meta": {"lastUpdated": "2024-01-01T00:00:00Z", "versionId": "2024"},
    "text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml">2024-01-01</div>'},
    "contained": [{"resourceType": "Observation", "id": "c", "status": "final", "code": {"text": "2024-01-01"}}],
    "extension": [
        {"url": "http://x/2024", "valueDate": "2024-01-01"},
        {"url": "http://x/s", "valueString": "2024-01-01"},
        {"url": "http://x/p", "valuePeriod": {"start": "2024-01", "end": "2024"}},
        {"url": "http://x/r", "valueReference": {"reference": "#c"}},
    ],
    "identifier": [{"value": "2024-01-01", "period": {"start": "2024-01-01"}}],
    "name": [{"family": "2024-01-01", "period": {"end": "2024-01-01"}}],
    "birthDate": "2024-01-01",
    "_birthDate": {"extension": [{"url": "http://x/t", "valueDateTime": "2024-01-01T10:00:00Z"}]},
    "deceasedDateTime": "2024-01-01T00:00:00+01:00",
}
CHART["contained"][0]["effectiveDateTime"] = "2024-01-01"


def test_only_elements_defined_as_dates_are_shifted() -> None:
    assert validate(CHART) == []
    found = shift_dates(CHART, 1)
    assert found["birthDate"] == found["name"][0]["period"]["end"] == "2024-01-02"
    assert found["meta"] == {"lastUpdated": "2024-01-02T00:00:00Z", "versionId": "2024"}
    assert found["_birthDate"]["extension"][0]["valueDateTime"] == "2024-01-02T10:00:00Z"
    assert found["deceasedDateTime"] == "2024-01-02T00:00:00+01:00"
    assert found["contained"][0]["effectiveDateTime"] == "2024-01-02"
    assert found["extension"][0]["valueDate"] == "2024-01-02"
    assert found["extension"][2]["valuePeriod"] == {"start": "2024-01", "end": "2024"}
    assert found["id"] == found["identifier"][0]["value"] == found["name"][0]["family"] == "2024-01-01"
    assert found["extension"][1]["valueString"] == "2024-01-01"
    assert (found["text"], found["contained"][0]["code"]) == (CHART["text"], CHART["contained"][0]["code"])
    assert CHART["birthDate"] == "2024-01-01"


@given(DAYS)
def test_shifting_back_restores_the_resource(days: int) -> None:
    assert render_resource(shift_dates(shift_dates(CHART, days), -days)) == render_resource(CHART)


def test_shifting_keeps_exact_decimals() -> None:
    line = b'{"resourceType":"Observation","id":"a","effectiveDateTime":"2024-01-01","valueQuantity":{"value":1.50}}'
    assert b'"value":1.50' in render_resource(shift_dates(parse_resource(line), 30))
