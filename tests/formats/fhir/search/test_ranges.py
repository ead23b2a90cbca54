"""Dates, numbers and quantities (R4 §3.1.1.4.5 to §3.1.1.4.7, §3.1.1.4.11)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clerkship.formats.fhir.search import SearchContext, parse_query, run_search, to_microseconds
from tests.formats.fhir.search.searching import build_resource, get_refusal, parse_pairs, search_ids, view_resources


def seen(id: str, **elements: Any) -> dict[str, Any]:
    return build_resource("Observation", id, **elements)


TIMES = view_resources(
    seen("a-midnight", effectiveDateTime="2013-01-14T00:00:00Z"),
    seen("b-ten", effectiveDateTime="2013-01-14T10:00:00Z"),
    seen("c-next-day", effectiveDateTime="2013-01-15T00:00:00Z"),
    seen("d-day", effectiveDateTime="2013-01-14"),
    seen("e-month", effectiveDateTime="2013-01"),
    seen("f-from-21st", effectivePeriod={"start": "2013-01-21"}),
    seen("g-until-2012", effectivePeriod={"end": "2012-12-31"}),
    seen("h-instant", effectiveInstant="2013-01-14T09:59:59.999Z"),
    seen("i-schedule", effectiveTiming={"event": ["2013-01-31", "2013-03-24"]}),
    seen("j-none"),
)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        # the examples of R4's table: what lies in the day, not what the day lies in
        ("2013-01-14", "abdh"),
        ("eq2013-01-14", "abdh"),
        ("ne2013-01-14", "cefgi"),
        ("lt2013-01-14T10:00:00Z", "adegh"),
        ("gt2013-01-14T10:00:00Z", "cdefi"),
        ("ge2013-03-14", "fi"),
        ("le2013-01-14", "abdegh"),
        ("sa2013-01-14", "cfi"),
        ("eb2013-01-14", "g"),
        ("eb2013-01-14T10:00:00Z", "agh"),
        ("ap2013-01-14", "abdeh"),
        ("2013", "abcdehi"),
        ("2013-01", "abcdeh"),
        ("gt2013-02", "fi"),
        ("2013-01-14T10:00Z", "b"),
        ("2013-01-14T10:00:00Z", "b"),
        ("2013-01-14T05:00:00-05:00", "b"),
        ("2013-01-14T09:59:59Z", "h"),
        ("2013-01-14T09:59:59.999Z", "h"),
        ("2013-01-14T10:00:00.000Z", ""),
        ("2013-02-15", ""),
        ("ap2013-02-15", "fi"),
        ("2012,2013-01-15", "c"),
    ],
)
def test_date_search_uses_the_range_of_its_precision(parameters: str, expected: str) -> None:
    assert "".join(id[0] for id in search_ids(TIMES, "Observation", f"date={parameters}")) == expected


def test_repeated_date_parameters_form_a_range() -> None:
    assert search_ids(TIMES, "Observation", "date=ge2013-01-14T05:00:00Z", "date=lt2013-01-14T23:00:00Z") == [
        "b-ten",
        "d-day",
        "e-month",
        "h-instant",
    ]
    assert search_ids(TIMES, "Observation", "date:missing=true") == ["j-none"]


def test_date_without_a_zone_is_in_the_zone_of_the_server() -> None:
    view = view_resources(seen("evening", effectiveDateTime="2026-03-02T20:00:00-05:00"))
    here = SearchContext(zone=-5 * 60)
    for meaning, day in ((None, "2026-03-03"), (here, "2026-03-02")):
        query = parse_query("Observation", parse_pairs(f"date={day}"), context=meaning)
        assert list(run_search(view, query).keys) == ["Observation/evening"]


def test_prefix_ap_of_a_date_is_a_tenth_of_the_distance_to_now() -> None:
    now = SearchContext(now=to_microseconds(datetime(2013, 1, 29, tzinfo=UTC)))
    query = parse_query("Observation", parse_pairs("date=ap2013-01-16"), context=now)
    assert [key.partition("/")[2][0] for key in run_search(TIMES, query).keys] == ["c", "d", "e"]
    assert search_ids(TIMES, "Observation", "date=ap2013-01-16") == ["e-month"]


MG = {"system": "http://unitsofmeasure.org", "code": "mg", "unit": "milligram"}
DOSES = view_resources(
    *(seen(f"{value}", valueQuantity={"value": value, **MG}) for value in (5.34, 5.35, 5.4, 5.45, 6, 100, 99.4, 104)),
    seen("grams", valueQuantity={"value": 5.4, "unit": "g"}),
    seen("below", valueQuantity={"value": 5, "comparator": "<", **MG}),
    seen("none"),
)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("5.4", ["5.35", "5.4", "grams"]),
        ("5.40", ["5.4", "grams"]),
        ("5.4|http://unitsofmeasure.org|mg", ["5.35", "5.4"]),
        ("5.4||milligram", ["5.35", "5.4"]),
        ("5.4||g", ["grams"]),
        ("100", ["100"]),
        ("1e2", ["100", "104", "99.4"]),
        ("ne100||mg", ["104", "5.34", "5.35", "5.4", "5.45", "6", "99.4", "below"]),
        ("gt100", ["104"]),
        ("ge100", ["100", "104"]),
        ("lt5.35", ["5.34", "below"]),
        ("le5.35", ["5.34", "5.35", "below"]),
        ("sa99.4", ["100", "104"]),
        ("eb5.35", ["5.34", "below"]),
        ("ap100", ["100", "104", "99.4"]),
        ("ap5.8||mg", ["5.34", "5.35", "5.4", "5.45", "6"]),
        ("-5.4", []),
    ],
)
def test_number_search_uses_the_range_that_rounds_to_it(parameters: str, expected: list[str]) -> None:
    assert search_ids(DOSES, "Observation", f"value-quantity={parameters}") == expected


def test_numbers_and_ranges() -> None:
    view = view_resources(
        build_resource("RiskAssessment", "point", prediction=[{"probabilityDecimal": 0.8}]),
        build_resource(
            "RiskAssessment",
            "range",
            prediction=[{"probabilityRange": {"low": {"value": 0.5}, "high": {"value": 0.9}}}],
        ),
        build_resource("RiskAssessment", "open", prediction=[{"probabilityRange": {"low": {"value": 0.7}}}]),
    )
    assert search_ids(view, "RiskAssessment", "probability=0.8") == ["point"]
    assert search_ids(view, "RiskAssessment", "probability=gt0.8") == ["open", "range"]
    assert search_ids(view, "RiskAssessment", "probability=ge0.8") == ["open", "point", "range"]
    assert search_ids(view, "RiskAssessment", "probability=sa0.6") == ["open", "point"]


def test_money_and_samples() -> None:
    view = view_resources(
        build_resource("Invoice", "dear", totalGross={"value": 12.5, "currency": "USD"}),
        seen("wave", valueSampledData={"origin": {"value": 10, "code": "mV"}, "factor": 2, "data": "1 E 5 -3"}),
    )
    assert search_ids(view, "Invoice", "totalgross=12.5|urn:iso:std:iso:4217|USD") == ["dear"]
    assert search_ids(view, "Invoice", "totalgross=12.5||EUR") == []
    assert search_ids(view, "Observation", "value-quantity=gt19.9||mV") == ["wave"]
    assert search_ids(view, "Observation", "value-quantity=lt4") == []


@pytest.mark.parametrize(
    "parameters",
    [
        *("date=yesterday", "date=2013-13", "date=2013-02-30", "date=2013-1-1", "date=ge", "date=2013-01-14T25:00Z"),
        *("date=2013-01-14T10Z", "date=2013-01-14T10:00:00+99:00", "date=20130114", "date=2013-02-30T10:00:00Z"),
        *(
            "value-quantity=5,4x",
            "value-quantity=five",
            "value-quantity=5|mg",
            "value-quantity=1e999",
            "value-quantity=nan",
        ),
        *("_lastUpdated=now", "value-quantity=gt", "value-quantity=5.4|a|b|c", "date=0000-01-01"),
    ],
)
def test_malformed_date_or_number_is_refused(parameters: str) -> None:
    code, text = get_refusal("Observation", parameters)
    assert code == "value"
    assert parameters.partition("=")[0] in text
