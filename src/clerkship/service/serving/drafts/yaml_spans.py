"""Where each value of a YAML text begins and ends, so that one can be replaced and all other bytes stay."""

from dataclasses import dataclass, field
from typing import Any, Literal

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]

SpanKind = Literal["scalar", "map", "list", "alias"]
_STARTS: dict[type[yaml.Event], SpanKind] = {yaml.MappingStartEvent: "map", yaml.SequenceStartEvent: "list"}
_SIGNS = ("'", '"', "&", "!", "|", ">", "?")
"""With which a scalar begins that is not written as it is."""


@dataclass
class Span:
    """A value in a text: where it is, and the values in it."""

    kind: SpanKind
    start: int
    end: int
    """The position after its last character, without the white space that follows it."""
    column: int
    is_flow: bool = False
    """Whether it is written as JSON is: `{a: 1}` or `[1, 2]`."""
    children: list[tuple["Span | None", "Span"]] = field(default_factory=list)
    """The values in it, each with its key if it is a map."""

    def find(self, text: str, part: int | str) -> "tuple[Span | None, Span] | None":
        """Return the child under a key or a number, with its key; None if there is none."""
        if self.kind == "list" and isinstance(part, int):
            return self.children[part] if part < len(self.children) else None
        keys = [(key, value) for key, value in self.children if key is not None and key.read(text) == part]
        return keys[-1] if self.kind == "map" and keys else None

    def read(self, text: str) -> str:
        """Return what a key is, without quotes."""
        written = text[self.start : self.end]
        is_plain = not written.startswith(_SIGNS) and "\n" not in written
        return written if is_plain else str(yaml.load(written, Loader=_KeyLoader))


def parse_spans(text: str) -> Span:
    """Return the spans of a text that is valid YAML."""
    events = CParser(text)
    events.get_event()  # the start of the stream
    events.get_event()  # the start of the document
    return _parse(text, events, events.get_event(), is_flow=False)


def _parse(text: str, events: Any, event: Any, *, is_flow: bool) -> Span:
    start, column = event.start_mark.index, event.start_mark.column
    kind = _STARTS.get(type(event))
    if kind is None:
        is_scalar = isinstance(event, yaml.ScalarEvent)
        return Span(
            "scalar" if is_scalar else "alias", start, _trim(text, start, event.end_mark.index), column, is_flow
        )
    span = Span(kind, start, start, column, is_flow or event.flow_style)
    while not isinstance(event := events.get_event(), yaml.CollectionEndEvent):
        key = _parse(text, events, event, is_flow=span.is_flow) if kind == "map" else None
        span.children.append(
            (key, _parse(text, events, event if key is None else events.get_event(), is_flow=span.is_flow))
        )
    # The mark at the end of a block is where the next value begins, after the comments between the two.
    is_block = not span.is_flow and span.children
    span.end = span.children[-1][1].end if is_block else _get_end(event)
    return span


def _get_end(event: Any) -> int:
    return int(event.end_mark.index)


def _trim(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


class _KeyLoader(yaml.CBaseLoader):
    """Loads every scalar as text."""
