"""The current date in an agent's requests is hidden, however it is written."""

from datetime import date, timedelta

from clerkship.recording.current_date import hide_current_date

DAYS = [date(2026, 11, 19) + timedelta(number) for number in range(0, 500, 3)]
SPELLINGS = (
    "%Y-%m-%d",
    "%A, %Y-%m-%d",
    "%A (%Y-%m-%d)",
    "%Y-%m-%d (%a)",
    "%A, %B %d, %Y",
    "%a %b %d %Y",
    "%B %d %Y, %A.",
    "%b. %-d, %Y",
    "%B %-dth, %Y",
    "%a, %d %b %Y",
    "%A %-d %B %Y",
    "%-dth of %B, %Y",
    "%d-%b-%Y",
    "%m/%d/%Y",
    "%-d/%-m/%Y",
    "%Y/%m/%d",
    "%a, %d.%m.%Y",
)


def test_request_with_the_current_date_is_the_same_on_every_day() -> None:
    prompts: dict[str, set[str]] = {}
    for day in DAYS:
        for spelling in SPELLINGS:
            prompt = hide_current_date(f"\\nToday is {day:{spelling}}\\nUntil 2026-01-05.", {day})
            prompts.setdefault(spelling, set()).add(prompt)
    assert {spelling: found for spelling, found in prompts.items() if len(found) > 1} == {}
    for [prompt] in prompts.values():
        assert prompt.startswith("\\nToday is [")
        assert prompt.endswith("\\nUntil 2026-01-05.")


def test_other_dates_and_weekdays_stay() -> None:
    text = "Open Monday to Thursday. Closed on November 20, 2026, 11/1/2026, 2026-11-190 and Thursday, 19 May 2026."
    assert hide_current_date(text, {date(2026, 11, 19)}) == text


def test_another_way_of_writing_the_date_is_another_request() -> None:
    day = date(2026, 11, 19)
    spellings = [
        "%Y-%m-%d",
        "%B %d, %Y",
        "%d %B %Y",
        "%m/%d/%Y",
        "%Y/%m/%d",
        "%d.%m.%Y",
        "%A, %d %B %Y",
        "%a, %d %B %Y",
    ]
    assert len({hide_current_date(format(day, spelling), {day}) for spelling in spellings}) == len(spellings)


def test_dates_of_two_time_zones_are_the_same() -> None:
    days = {date(2026, 11, 19), date(2026, 11, 20)}
    prompts = {hide_current_date(f"{day:%A, %B %d, %Y}", days) for day in days}
    assert prompts == {"[weekday], [today with the month first]"}
