"""Reference numbers of requests (REF)."""

from clerkship.formats.x12.loop import Loop


def read_reference(loop: Loop, *qualifiers: str) -> str | None:
    """Return the first number of a loop with one of the qualifiers, tried in their order."""
    numbers = {each.raw(1): each.raw(2).strip() for each in reversed(loop.segments_with_id("REF"))}
    return next((numbers[qualifier] for qualifier in qualifiers if numbers.get(qualifier)), None)
