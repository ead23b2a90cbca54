"""Other ways to give the answers of tasks in this suite."""

import json
from datetime import UTC, datetime


def answer_in_text(task_item, sandboxes, reference):
    """Answer with a sentence and the answer as JSON."""
    return f"Here is what you asked for:\n\n```json\n{json.dumps(reference(task_item, sandboxes), indent=2)}\n```"


def answer_as_json(task_item, sandboxes, reference):
    """Answer with JSON as text."""
    return json.dumps(reference(task_item, sandboxes), ensure_ascii=False)


def answer_in_capitals(task_item, sandboxes, reference):
    """Answer with names in capital letters."""
    return {key: value.upper() for key, value in reference(task_item, sandboxes).items()}


def start_in_words(task_item, sandboxes, reference):
    """Answer with day and time in words."""
    return {"start": f"{read_start(task_item, sandboxes, reference):%A, %B %-d, %Y at %-I:%M %p}"}


def start_without_zone(task_item, sandboxes, reference):
    """Answer with the local time."""
    return {"start": f"{read_start(task_item, sandboxes, reference):%Y-%m-%d %H:%M}"}


def start_in_utc(task_item, sandboxes, reference):
    """Answer with the time in UTC."""
    return {"start": f"{read_start(task_item, sandboxes, reference).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"}


def start_day_first(task_item, sandboxes, reference):
    """Answer with the day before the month, and 24 hours."""
    return {"start": f"{read_start(task_item, sandboxes, reference):%A %-d %B %Y, %H:%M}"}


def start_in_american_numbers(task_item, sandboxes, reference):
    """Answer with month, day and year in numbers, and 12 hours."""
    return {"start": f"{read_start(task_item, sandboxes, reference):%-m/%-d/%Y %-I:%M%p}"}


def read_start(task_item, sandboxes, reference):
    """Return when the visit begins."""
    return datetime.fromisoformat(reference(task_item, sandboxes)["start"])
