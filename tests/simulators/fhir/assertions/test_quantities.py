"""Quantities in free text: which numbers count, and their units."""

import json

import pytest

from clerkship.simulators.fhir.assertions.quantities import UNIT_WORDS, find_quantities
from tests.choices import mark_slow_after


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Give 400 tablets at once", ["400 tablet"]),
        ("give four hundred TABS", ["400 tablet"]),
        ("one hundred and five milligrams", ["105 mg"]),
        ("sixty-five pills", ["65 tablet"]),
        ("400 oral tablets", ["400 tablet"]),
        ("400mg, 20-mEq, 1,000 mcg, .5 ml", ["400 mg", "20 meq", "1000 mcg", "0.5 ml"]),
        ("1.7 mg/dL, 2 mmol per L", ["1.7 mg/dl", "2 mmol/l"]),
        ("twice daily for ten days, then q8h", ["2 time", "10 day", "8 hour"]),
        ("118/76 mm[Hg]", ["118", "76 mmhg"]),
        ("below the 3.5 threshold for days", ["3.5"]),
        ("may 40 tablets be given", ["40 tablet"]),
        ("due the sixth of March 2026, by Fri 3/6, or 9 to 13 March", []),
        ("on 3/6 tablets", ["3", "6 tablet"]),
        ("morphine tabs x400 at once", ["400"]),
        ("take 2000 at once", ["2000"]),
        ("tablets at once: 1 000", ["1000"]),
        ("+1 555 010 0142, then 1 000 000 units", ["1", "555", "10", "142", "1e+06 iu"]),
        ("1e3 tablets, ⁴⁰⁰ tablets", ["1000 tablet", "400 tablet"]),
        ("since 2019, in 2026 (2025)", []),
        ("two records, the 3rd visit", []),
        ("2026-03-02T09:00:00-05:00, 3/2/2026, 9:30 am, March 2, 2026, 2 Mar", []),
        ("on 2 March, 9h30 or 14h00", []),
        ("SG-88123, A1c, pat-0050, in 2026", []),
        ("Reference number 48213377, ticket 482133771.", []),
        ("48213377 tablets, then 4821337 and 15550199044", ["4.82134e+07 tablet", "4.82134e+06", "1.55502e+10"]),
        ("OBX|1|NM|2823-3^K^LN||4.1|mmol/L", ["1", "2823", "3", "4.1 mmol/l"]),
    ],
)
def test_numbers_are_found_with_units_but_dates_are_not(text: str, found: list[str]) -> None:
    assert [str(measure) for measure in find_quantities(text)] == found


@pytest.mark.parametrize(
    "text",
    mark_slow_after(
        3,
        [
            "1" + " " * 200_000,
            "hundred " * 20_000,
            "9" * 5_000,
            "march 2 " * 20_000,
            "1 a-" * 50_000,
            "one and " * 20_000,
            "2026-03-" * 20_000,
            ".1" * 50_000,
            "123 " * 50_000 + "1234",
            "<" * 100_000,
        ],
    ),
    ids=lambda text: text[:8],
)
def test_hostile_text_is_parsed_in_linear_time(text: str) -> None:
    assert len(list(find_quantities(text))) <= len(text)


def test_unit_table_has_no_duplicate_words() -> None:
    first, *lines, last = UNIT_WORDS.read_text().splitlines()
    assert (first, last) == ("{", "}")
    rows = [next(iter(json.loads(f"{{{line.removesuffix(',')}}}").items())) for line in lines]
    words = [word for unit, others in rows for word in (unit, *others)]
    assert all(isinstance(word, str) and word == word.lower() for word in words)
    assert len(set(words)) == len(words)
