"""Check the elements of one segment and say what is wrong with each, with the codes of IK403."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from clerkship.formats.x12.dates import is_date, is_time
from clerkship.formats.x12.grammar import SegmentSpec
from clerkship.formats.x12.problems import ElementError
from clerkship.formats.x12.segment import X12Delimiters, X12Segment
from clerkship.formats.x12.segment_pattern import ElementSpec, SegmentRule

MAX_ELEMENT_ERRORS = 20
"""Errors reported for one segment."""
MAX_VALUE_LENGTH = 99
"""IK404 holds at most 99 characters of the bad value."""

_RULE_TEXTS = {
    "P": "{} must be given together",
    "R": "one of {} must be given",
    "E": "only one of {} may be given",
    "C": "of {}, the first needs the others",
    "L": "of {}, the first needs one of the others",
}
_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def check_elements(segment: X12Segment, spec: SegmentSpec) -> list[ElementError]:
    """Return the errors in the elements of a segment, in their order."""
    errors: list[ElementError] = []
    for error in _find_errors(segment, spec):
        errors.append(error)
        if len(errors) == MAX_ELEMENT_ERRORS:
            break
    errors.sort(key=lambda error: (error.position, error.repeat or 0, error.component or 0))
    return errors


def check_rules(segment: X12Segment, spec: SegmentSpec) -> list[ElementError]:
    """Return the elements that break a rule between elements, such as `P0809`."""
    if not spec.situations and all(_holds(rule, segment.elements) for rule in spec.rules):
        return []
    errors = _break_rules(segment.elements, spec.rules, spec.elements)
    return [*errors, *_break_situations(segment, spec)]


def find_bad_characters(segment: X12Segment, spec: SegmentSpec, outside: re.Pattern[str]) -> list[ElementError]:
    """Return the elements and components with a character that a pattern finds (IK403 code 6)."""
    return list(islice(_find_bad_characters(segment, spec, outside), MAX_ELEMENT_ERRORS))


def _find_bad_characters(segment: X12Segment, spec: SegmentSpec, outside: re.Pattern[str]) -> Iterator[ElementError]:
    _, repetition, component_separator, _ = segment.delimiters
    for element in spec.elements:
        for number, repeat in enumerate(segment.raw(element.position).split(repetition), 1):
            parts = repeat.split(component_separator) if element.components else [repeat]
            for part, component in zip(parts, element.components or (None,), strict=False):
                if match := outside.search(part):
                    place = _place(spec, element) + (f":{component.position} ({component.label})" if component else "")
                    text = f"{place} has the character {match[0]!a}, which is not in the character set"
                    repeat_number = number if element.repeats > 1 else None
                    if component:
                        yield _component_error(element, component, repeat_number, "6", text, part)
                    else:
                        yield _error(element, "6", text, part)._replace(repeat=repeat_number)


def _holds(rule: SegmentRule, values: Sequence[str]) -> bool:
    """Return whether a pair is complete or missing: the fast answer for the most common rule."""
    kind, positions = rule
    if kind != "P" or len(positions) != 2:
        return False
    first, second = positions
    count = len(values)
    return (first < count and values[first] != "") == (second < count and values[second] != "")


def _find_errors(segment: X12Segment, spec: SegmentSpec) -> Iterator[ElementError]:
    values = segment.elements
    count = len(spec.elements)
    if len(values) - 1 > count:
        yield ElementError(
            count + 1,
            "3",
            f"{spec.id} has {len(values) - 1} elements; at most {count} are allowed",
            value=_cut(values[count + 1]),
        )
    elif len(values) > 1 and not values[-1]:
        # X12.6: separators at the end of a segment are left out.
        last = spec.elements[len(values) - 2]
        yield _error(last, "3", f"{spec.id} ends with an element separator")
    for element in spec.elements:
        value = values[element.position] if element.position < len(values) else ""
        if not value:
            if element.usage == "R":
                yield _error(element, "1", f"{_place(spec, element)} is missing")
            continue
        if element.usage == "N":
            yield _error(element, "I10", f"{_place(spec, element)} is not used here", value)
            continue
        yield from _check_value(segment, spec, element, value)
    yield from _break_rules(values, spec.rules, spec.elements)
    yield from _break_situations(segment, spec)


def _check_value(segment: X12Segment, spec: SegmentSpec, element: ElementSpec, value: str) -> Iterator[ElementError]:
    delimiters = segment.delimiters
    repeats = value.split(delimiters.repetition, element.repeats + 1)
    if len(repeats) > element.repeats:
        text = (
            f"{_place(spec, element)} has more than {element.repeats} {'value' if element.repeats == 1 else 'values'}"
        )
        yield _error(element, "12", text, value)
        del repeats[element.repeats :]
    for number, repeat in enumerate(repeats, 1):
        repeat_number = number if element.repeats > 1 else None
        place = _place(spec, element)
        if element.components:
            yield from _check_composite(repeat, spec, element, repeat_number, delimiters)
        elif not repeat:
            yield _error(element, "1", f"{place} has an empty repetition")._replace(repeat=repeat_number)
        elif delimiters.component in repeat:
            yield _error(element, "13", f"{place} has components; it is a simple element", repeat)._replace(
                repeat=repeat_number
            )
        else:
            problem = _check_simple(repeat, element, _date_format(segment.elements, element))
            if problem is not None:
                yield _error(element, problem[0], f"{place} {problem[1]}", repeat)._replace(repeat=repeat_number)


def _check_composite(
    text: str, spec: SegmentSpec, element: ElementSpec, repeat: int | None, delimiters: X12Delimiters
) -> Iterator[ElementError]:
    values = text.split(delimiters.component, len(element.components) + 1)
    place = _place(spec, element)
    if len(values) > len(element.components):
        yield _error(element, "13", f"{place} has more than {len(element.components)} components", text)._replace(
            repeat=repeat
        )
    elif len(values) > 1 and not values[-1]:
        yield _error(element, "13", f"{place} ends with a component separator", text)._replace(repeat=repeat)
    padded = ["", *values]
    for component in element.components:
        value = padded[component.position] if component.position < len(padded) else ""
        problem: tuple[str, str] | None = None
        if not value:
            problem = ("1", "is missing") if component.usage == "R" else None
        elif component.usage == "N":
            problem = ("I10", "is not used here")
        else:
            problem = _check_simple(value, component, _date_format(padded, component))
        if problem is not None:
            description = f"{place}:{component.position} ({component.label}) {problem[1]}"
            yield _component_error(element, component, repeat, problem[0], description, value)
    for broken in _break_rules(padded, element.rules, element.components):
        component = element.components[broken.position - 1]
        yield _component_error(element, component, repeat, broken.code, f"{place}: {broken.text}", broken.value)


def _check_simple(value: str, element: ElementSpec, date_format: str) -> tuple[str, str] | None:
    """Return the code of IK403 and a description, or None if the value is valid."""
    bad = _find_bad_character(value)
    if bad is not None:
        return "6", f"has the character {bad!a}, which is not in the character set"
    match element.type:
        case "DT":
            return None if is_date(value) else ("8", f"`{_cut(value, 20)}` is not a date (CCYYMMDD)")
        case "TM":
            return None if is_time(value) else ("9", f"`{_cut(value, 20)}` is not a time (HHMM or HHMMSS)")
        case "N0" if not _INTEGER.fullmatch(value):
            return "6", f"`{_cut(value, 20)}` is not a whole number"
        case "R" if not _DECIMAL.fullmatch(value):
            return "6", f"`{_cut(value, 20)}` is not a number"
    # X12.6: signs and decimal points do not count in the length of a number.
    length = sum(map(str.isdigit, value)) if element.type in {"N0", "R"} else len(value)
    if length < element.min:
        return "4", f"`{_cut(value, 20)}` is shorter than {element.min} characters"
    if length > element.max:
        return "5", f"`{_cut(value, 20)}` is longer than {element.max} characters"
    if element.codes is not None and value not in element.codes:
        return _describe_code(value, element)
    if element.type == "AN" and not value.strip():
        return "6", "has only spaces"
    if element.format_position and date_format and not _is_in_format(value, date_format):
        form = "CCYYMMDD-CCYYMMDD" if date_format == "RD8" else "CCYYMMDD"
        return "8", f"`{_cut(value, 20)}` is not a date in the format {date_format} ({form})"
    return None


def _describe_code(value: str, element: ElementSpec) -> tuple[str, str]:
    codes = sorted(element.codes or ())
    expected = ", ".join(codes[:12]) + (" …" if len(codes) > 12 else "")
    if value in element.meanings:
        return "I6", f"`{value}` ({element.meanings[value]}) is not used here (expected: {expected})"
    return "7", f"`{_cut(value, 20)}` is not a valid code (expected: {expected})"


def _find_bad_character(value: str) -> str | None:
    if value.isascii() and value.isprintable():
        return None
    return next(character for character in value if not " " <= character <= "~")


def _is_in_format(value: str, date_format: str) -> bool:
    if date_format == "D8":
        return is_date(value)
    if date_format == "RD8":
        return len(value) == 17 and value[8] == "-" and is_date(value[:8]) and is_date(value[9:])
    return True


def _date_format(values: Sequence[str], element: ElementSpec) -> str:
    position = element.format_position
    return values[position] if 0 < position < len(values) else ""


def _break_rules(
    values: Sequence[str], rules: Sequence[SegmentRule], elements: Sequence[ElementSpec]
) -> Iterator[ElementError]:
    for kind, positions in rules:
        present = [position for position in positions if position < len(values) and values[position]]
        for position in _find_missing(kind, positions, present):
            element = elements[position - 1]
            names = " and ".join(f"{other:02}" for other in positions)
            text = f"element {position:02} ({element.label}) breaks a rule: {_RULE_TEXTS[kind].format(names)}"
            yield _error(element, "10" if kind == "E" else "2", text, values[position] if kind == "E" else "")


def _break_situations(segment: X12Segment, spec: SegmentSpec) -> Iterator[ElementError]:
    for situation in spec.situations:
        value = segment.raw(situation.element)
        if value not in situation.values:
            continue
        reason = f"because {spec.id}{situation.element:02} is `{value}`"
        for position in situation.needs:
            if not segment.raw(position):
                element = spec.elements[position - 1]
                yield _error(element, "I9", f"{_place(spec, element)} is missing; it is needed {reason}")


def _find_missing(kind: str, positions: Sequence[int], present: Sequence[int]) -> Sequence[int]:
    """Return the positions a rule complains about."""
    match kind:
        case "P" if present and len(present) < len(positions):
            return [position for position in positions if position not in present]
        case "R" if not present:
            return positions[:1]
        case "E" if len(present) > 1:
            return present[1:]
        case "C" if positions[0] in present:
            return [position for position in positions[1:] if position not in present]
        case "L" if positions[0] in present and len(present) == 1:
            return positions[1:2]
    return ()


def _place(spec: SegmentSpec, element: ElementSpec) -> str:
    return f"{spec.id}{element.position:02} ({element.label})"


def _error(element: ElementSpec, code: str, text: str, value: str = "") -> ElementError:
    number = element.number if element.number.isdigit() else ""
    return ElementError(element.position, code, text, element_number=number, value=_cut(value))


def _component_error(
    element: ElementSpec, component: ElementSpec, repeat: int | None, code: str, text: str, value: str
) -> ElementError:
    return ElementError(element.position, code, text, component.position, repeat, component.number, _cut(value))


def _cut(value: str, length: int = MAX_VALUE_LENGTH) -> str:
    return value if len(value) <= length else value[:length]
