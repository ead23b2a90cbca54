"""A view of a transaction set as JSON: loops and elements with readable labels, and the meaning of codes.

The view is for people and for tools of models. Its keys come from the labels in the tables, so it names what the
grammar names. The segments as encoded are in it too.
"""

import re
from typing import Any

from clerkship.formats.x12.grammar import Grammar, LoopSpec, SegmentSpec
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.problems import SegmentError
from clerkship.formats.x12.segment import X12Segment
from clerkship.formats.x12.segment_pattern import ElementSpec
from clerkship.formats.x12.validation import ValidatedSet

JsonObject = dict[str, Any]
_NOT_IN_KEY = re.compile(r"[^a-z0-9]+")


def view_set(validated: ValidatedSet) -> JsonObject:
    """Return the view of a set: what it is, its loops, its errors, and its segments as encoded."""
    tree, grammar = validated.tree, validated.grammar
    header = tree.segment("ST")
    view: JsonObject = {
        "transaction": header.raw(1) if header is not None else "",
        "name": _name_set(validated),
        "control_number": header.raw(2) if header is not None else "",
        "version": header.raw(3) if header is not None else "",
    }
    if grammar is not None:
        view["content"] = _view_loop(tree, grammar.root, grammar)
    else:
        view["content"] = {"other_segments": [_view_unknown(segment) for segment in tree.segments]}
    view["errors"] = [view_error(error) for error in validated.errors]
    view["segments"] = [segment.render() for segment in validated.segments]
    return view


def to_key(label: str) -> str:
    """Return a label of the tables as a key: `city, state and postal code` becomes `city_state_and_postal_code`."""
    return _NOT_IN_KEY.sub("_", label.lower()).strip("_")


def view_error(error: SegmentError) -> JsonObject:
    """Return one error as JSON: its place, its code and what is wrong."""
    view: JsonObject = {"segment": error.segment, "position": error.position}
    if error.loop:
        view["loop"] = error.loop
    view |= {"code": error.code, "text": error.text}
    if error.trace:
        view["trace"] = error.trace
    if error.elements:
        view["elements"] = [
            {key: value for key, value in element._asdict().items() if value not in {None, ""}}
            for element in error.elements
        ]
    return view


def _name_set(validated: ValidatedSet) -> str:
    if validated.grammar is not None:
        return validated.grammar.name
    return validated.unsupported.name if validated.unsupported is not None else ""


def _view_loop(loop: Loop, spec: LoopSpec, grammar: Grammar) -> JsonObject:
    view: JsonObject = {"loop": loop.id} if loop.id else {}
    lists = _find_lists(spec)
    for segment in loop.segments:
        segment_spec = spec.segment_spec(segment)
        if segment_spec is None:
            view.setdefault("other_segments", []).append(_view_unknown(segment))
        else:
            _add(view, to_key(segment_spec.label), _view_segment(segment, segment_spec), lists)
    for inner in loop.loops:
        inner_spec = grammar.loops[inner.id]
        _add(view, to_key(inner_spec.label), _view_loop(inner, inner_spec, grammar), lists)
    return view


def _find_lists(spec: LoopSpec) -> frozenset[str]:
    """Return the keys that hold lists: by the grammar, not by what a set has, so that a key always has one form."""
    lists = {to_key(level.label) for level in spec.levels if level.max > 1}
    seen: set[str] = set()
    for item in spec.items:
        key = to_key((item.loop or item.segment).label)
        if item.max > 1 or key in seen:
            lists.add(key)
        seen.add(key)
    return frozenset(lists)


def _add(view: JsonObject, key: str, value: JsonObject, lists: frozenset[str]) -> None:
    if key in lists:
        view.setdefault(key, []).append(value)
    elif key in view:
        # A segment or loop that occurs too often: an error of the set, which the view shows all the same.
        view.setdefault(f"{key}_over_limit", []).append(value)
    else:
        view[key] = value


def _view_segment(segment: X12Segment, spec: SegmentSpec) -> JsonObject:
    view: JsonObject = {"segment": segment.id}
    for element in spec.elements:
        repeats = segment.repeats(element.position)
        if repeats:
            values = [_view_value(repeat, element, segment) for repeat in repeats]
            view[to_key(element.label)] = values if element.repeats > 1 else values[0]
    if len(segment.elements) - 1 > len(spec.elements):
        view["other_elements"] = segment.elements[len(spec.elements) + 1 :]
    return view


def _view_value(value: str, element: ElementSpec, segment: X12Segment) -> Any:
    if element.components:
        parts = value.split(segment.delimiters.component)
        pairs = zip(element.components, parts, strict=False)
        return {to_key(component.label): _view_value(part, component, segment) for component, part in pairs if part}
    if not element.meanings:
        return value
    meaning = element.meanings.get(value)
    return {"code": value} if meaning is None else {"code": value, "meaning": meaning}


def _view_unknown(segment: X12Segment) -> JsonObject:
    return {"segment": segment.id, "elements": segment.elements[1:]}
