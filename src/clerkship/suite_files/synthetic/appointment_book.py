"""The appointment book of a team, so that no clinician sees two patients at once."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.staff import Clinician
from clerkship.suite_files.synthetic.times import FRIDAY, clinic_time, is_open, latest_open_day, to_local

VISIT_TIMES = tuple((hour, minute) for hour in (9, 10, 11, 13, 14, 15) for minute in (0, 30))
"""Start times of visits: hour and minute."""
VISIT_LENGTH = timedelta(minutes=30)
WEEKS_AHEAD = 4


class AppointmentBook:
    """The times that are taken, by clinician."""

    def __init__(self, now: datetime) -> None:
        self.openings = list(_iter_openings(now))
        """Every start time of the next four weeks on days when the clinic is open."""
        self._taken: dict[tuple[str, datetime], datetime] = {}

    def book_past(self, rng: RandomSource, clinician: Clinician, day: date, earliest: date) -> datetime | None:
        """Take a free time on this day or an earlier one; None if there is none."""
        first = rng.integer(0, len(VISIT_TIMES) - 1)
        if day.weekday() > FRIDAY:  # any day of that week, because Fridays would fill up otherwise
            day -= timedelta(days=day.weekday() - rng.integer(0, FRIDAY))
        day = latest_open_day(day)
        while day >= earliest:
            for step in range(len(VISIT_TIMES)):
                start = clinic_time(day, *VISIT_TIMES[(first + step) % len(VISIT_TIMES)])
                if self._take(clinician, start, start):
                    return start
            day = latest_open_day(day - timedelta(days=1))
        return None

    def book_future(self, rng: RandomSource, clinician: Clinician, agreed: datetime) -> datetime | None:
        """Take a free time in the next four weeks and record when it was booked; None if there is none."""
        times = self.openings
        first = rng.integer(0, max(0, len(times) - 1))
        for step in range(len(times)):
            start = times[(first + step) % len(times)]
            if self._take(clinician, start, agreed):
                return start
        return None

    def _take(self, clinician: Clinician, start: datetime, agreed: datetime) -> bool:
        at = (clinician.tag, start)
        if at in self._taken:
            return False
        self._taken[at] = agreed
        return True

    def get_booking_time(self, clinician: Clinician, start: datetime) -> datetime | None:
        """Return when a time was booked; None if it is free."""
        return self._taken.get((clinician.tag, start))


def _iter_openings(now: datetime) -> Iterator[datetime]:
    today = to_local(now).date()
    for days in range(WEEKS_AHEAD * 7):
        day = today + timedelta(days=days)
        if is_open(day):
            for time in VISIT_TIMES:
                if (start := clinic_time(day, *time)) > now:
                    yield start
