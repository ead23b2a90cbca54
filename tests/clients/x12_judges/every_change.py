"""Every small change of a valid message: each segment left out, repeated or moved, each element emptied or wrong.

Hand-written flaws show what the author thought of. These show the rest.
"""

from collections import Counter
from collections.abc import Iterator

from tests.clients.x12_judges.messages import interchange, valid_message
from tests.clients.x12_judges.mutations import recount

WRONG = "Q9" * 40
"""Of any length, it is in no code list, and neither a number nor a date."""


def changed_messages(name: str) -> dict[str, str]:
    """Return the changed interchanges by what was changed, such as `NM1*IL 8 is empty`."""
    valid = valid_message(name)
    return {change: interchange(recount(segments)) for change, segments in changes(valid)}


def changes(valid: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield every change of the segments between ST and SE."""
    labels = label(valid)
    for place in range(3, len(valid) - 3):
        before, segment, after = valid[:place], valid[place], valid[place + 1 :]
        yield f"{labels[place]} is missing", [*before, *after]
        yield f"{labels[place]} stands twice", [*before, segment, segment, *after]
        if place > 3:
            yield f"{labels[place]} comes one segment earlier", [*before[:-1], segment, before[-1], *after]
        for position, value in enumerate(segment.split("*")):
            if position and value:
                # As long as the right value, so that it is not refused for its length.
                for what, instead in (("empty", ""), ("wrong", WRONG[: len(value)])):
                    yield f"{labels[place]} {position} is {what}", [*before, put(segment, position, instead), *after]


def put(segment: str, position: int, value: str) -> str:
    """Return a segment with another value of an element; a segment never ends in empty elements."""
    elements = segment.split("*")
    elements[position] = value
    return "*".join(elements).rstrip("*")


def label(segments: list[str]) -> list[str]:
    """Return a name of each segment: id and first element, and a number if there are more of them."""
    seen: Counter[str] = Counter()
    labels = []
    for segment in segments:
        start = "*".join(segment.split("*")[:2])
        seen[start] += 1
        labels.append(start if seen[start] == 1 else f"{start} ({seen[start]})")
    return labels
