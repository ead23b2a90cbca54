"""Interchanges: ISA to IEA, with functional groups and transaction sets.

What is wrong with an envelope is not an exception but a problem with the code that TA1 or 999 reports. Only data
without a readable ISA segment, or above a limit, raises `NotX12`, because no TA1 can be built for it.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from clerkship.formats.x12.envelope_checks import (
    check_group_header,
    check_group_trailer,
    check_interchange,
    check_set,
    check_set_numbers,
)
from clerkship.formats.x12.header import NO_SEPARATOR, ParsedHeader, parse_header
from clerkship.formats.x12.problems import EnvelopeProblem, add_problem, show_value
from clerkship.formats.x12.segment import HeaderElement, X12Delimiters, X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet

MAX_BYTES = 16 * 1024 * 1024
MAX_INTERCHANGES = 1_000
MAX_SETS = 50_000
MAX_SEGMENTS = 500_000
MAX_SEARCHED_STARTS = 1_000
"""Occurrences of `ISA` in stray text that are tried as the start of the next interchange."""
_WHITESPACE = " \t\r\n"
_WIDE_STARTS = (b"\xff\xfe", b"\xfe\xff", b"I\0", b"\0I")
_ENVELOPE_IDS = ("GS", "GE", "ST", "SE", "TA1")


class NotX12(Exception):
    """The data has no ISA segment that can be read, or is above a limit."""


class InterchangeTooLarge(NotX12):
    """The data is above a limit, and was not parsed."""


class ParseLimits(NamedTuple):
    """How much `parse_interchanges` accepts in one body."""

    bytes: int = MAX_BYTES
    sets: int = MAX_SETS
    segments: int = MAX_SEGMENTS
    interchanges: int = MAX_INTERCHANGES


DEFAULT_PARSE_LIMITS = ParseLimits()


class FunctionalGroup:
    """One functional group: GS to GE."""

    __slots__ = ("header", "problems", "sets", "trailer")
    functional_code = HeaderElement(1)
    """GS01, such as `HS`."""
    sender = HeaderElement(2)
    """GS02."""
    receiver = HeaderElement(3)
    """GS03."""
    control_number = HeaderElement(6)
    """GS06."""
    version = HeaderElement(8)
    """GS08, such as `005010X279A1`."""

    def __init__(self, header: X12Segment) -> None:
        self.header = header
        self.sets: list[TransactionSet] = []
        self.trailer: X12Segment | None = None
        """The GE segment; None if it is missing."""
        self.problems: list[EnvelopeProblem] = []
        """Problems with codes of AK905. A receiver adds its own, such as `2` for a version it does not support."""

    @property
    def is_acknowledgment(self) -> bool:
        """Whether the group holds 999 or 997 sets, which are never answered with a 999."""
        return self.functional_code == "FA"

    def render(self, line_break: str = "") -> str:
        """Return the group as encoded."""
        end = self.header.delimiters.segment + line_break
        sets = "".join(each.render(line_break) for each in self.sets)
        trailer = self.trailer.render() + end if self.trailer else ""
        return f"{self.header.render()}{end}{sets}{trailer}"


class Interchange:
    """One interchange: ISA to IEA."""

    __slots__ = ("acknowledgments", "delimiters", "groups", "header", "problems", "source", "trailer")
    sender_qualifier = HeaderElement(5)
    """ISA05."""
    receiver_qualifier = HeaderElement(7)
    """ISA07."""
    version = HeaderElement(12)
    """ISA12, such as `00501`."""
    control_number = HeaderElement(13)
    """ISA13."""
    usage = HeaderElement(15)
    """ISA15: `T` for test, `P` for production."""

    def __init__(self, header: X12Segment, delimiters: X12Delimiters, problems: list[EnvelopeProblem]) -> None:
        self.source: tuple[str, int, int] = ("", 0, 0)
        """The text from which it was parsed, and its place in it."""
        self.header = header
        self.delimiters = delimiters
        self.groups: list[FunctionalGroup] = []
        self.trailer: X12Segment | None = None
        """The IEA segment; None if it is missing."""
        self.acknowledgments: list[X12Segment] = []
        """The TA1 segments before the first group."""
        self.problems = problems
        """Problems with codes of TA105, in the order of their discovery. A receiver adds its own, such as `025`."""

    @property
    def received(self) -> str:
        """The text that was parsed, with line breaks and with segments that `render` leaves out."""
        text, start, end = self.source
        return text[start:end]

    @property
    def sender(self) -> str:
        """ISA06 without its padding."""
        return self.header.raw(6).strip()

    @property
    def receiver(self) -> str:
        """ISA08 without its padding."""
        return self.header.raw(8).strip()

    @property
    def wants_ta1(self) -> bool:
        """Whether the sender asks for a TA1 (ISA14 is 1)."""
        return self.header.raw(14) == "1"

    @property
    def is_acknowledgment(self) -> bool:
        """Whether the interchange holds only TA1 segments and groups of 999 sets. It is never answered with a TA1."""
        return bool(self.acknowledgments or self.groups) and all(group.is_acknowledgment for group in self.groups)

    @property
    def sets(self) -> list[TransactionSet]:
        """The sets of all groups."""
        return [each for group in self.groups for each in group.sets]

    def render(self, line_break: str = "") -> str:
        """Return the interchange as encoded. Segments outside of groups and sets are left out."""
        end = self.delimiters.segment + line_break
        acknowledgments = "".join(segment.render() + end for segment in self.acknowledgments)
        groups = "".join(group.render(line_break) for group in self.groups)
        trailer = self.trailer.render() + end if self.trailer else ""
        return f"{self.header.render()}{end}{acknowledgments}{groups}{trailer}"


def parse_interchanges(data: bytes | str, limits: ParseLimits = DEFAULT_PARSE_LIMITS) -> list[Interchange]:
    """Parse every interchange of a body; at least one is returned.

    Raises `NotX12` if the body does not start with an ISA segment, and `InterchangeTooLarge` if it is above a limit.
    """
    text = _decode(data, limits)
    start = len(text) - len(text.lstrip(_WHITESPACE))
    header = parse_header(text, start)
    if header is None:
        raise NotX12(_describe_start(text, start))
    reader = _InterchangeReader(text, limits)
    interchanges: list[Interchange] = []
    while header is not None:
        if len(interchanges) >= limits.interchanges:
            raise InterchangeTooLarge(f"there are more than {limits.interchanges} interchanges; send fewer at once")
        interchange, end = reader.read(header)
        interchange.source = text, header.start, end
        interchanges.append(interchange)
        header = _find_next_header(text, end, interchange)
    return interchanges


def _decode(data: bytes | str, limits: ParseLimits) -> str:
    if len(data) > limits.bytes:
        raise InterchangeTooLarge(f"the data has {len(data)} bytes (at most {limits.bytes} are accepted)")
    if isinstance(data, str):
        text = data.removeprefix("\ufeff")
    else:
        if data.startswith(_WIDE_STARTS):
            raise NotX12("the data is encoded in UTF-16 (expected: ASCII or UTF-8)")
        data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    if NO_SEPARATOR in text:
        raise NotX12("the data contains NUL characters, so it is binary (expected: text that starts with ISA)")
    return text


def _describe_start(text: str, start: int) -> str:
    if not text[start : start + 1]:
        return "the data is empty (expected: an interchange that starts with ISA)"
    if not text.startswith("ISA", start):
        return f"the data starts with {show_value(text[start : start + 12])} (expected: an ISA segment)"
    return (
        f"the ISA segment {show_value(text[start : start + 110])} is not complete"
        " (expected: 106 characters: 16 elements of fixed width, and the segment terminator)"
    )


def _find_next_header(text: str, start: int, previous: Interchange) -> ParsedHeader | None:
    """Find the next ISA segment. Other text between interchanges is a problem of the interchange before it."""
    rest = _NOT_WHITESPACE.search(text, start)
    if rest is None:
        return None
    header = parse_header(text, rest.start())
    if header is None:
        shown = show_value(text[rest.start() : rest.start() + 60])
        add_problem(previous.problems, "022", f"after the interchange follows {shown} (expected: ISA or the end)")
    place = rest.start()
    for _ in range(MAX_SEARCHED_STARTS):
        if header is not None or (place := text.find("ISA", place + 1)) < 0:
            break
        header = parse_header(text, place)
    return header


_NOT_WHITESPACE = re.compile(rf"[^{_WHITESPACE}]")


@lru_cache(maxsize=64)
def _rest_of_segment(segment: str) -> re.Pattern[str]:
    return re.compile(rf"[^{re.escape(segment)}\r\n]*")


@lru_cache(maxsize=64)
def _end_pattern(element: str, segment: str) -> re.Pattern[str]:
    """Return a pattern for the start of an IEA segment or of the next ISA, each after a terminator or line break.

    It starts with a literal, for which the search is fast; what stands before is checked afterwards.
    """
    element, segment = re.escape(element), re.escape(segment)
    return re.compile(rf"I(?<=[{segment}\r\n]I)(?:EA(?=[{element}{segment}])|SA(?=[^A-Za-z0-9\s]))")


class _InterchangeReader:
    """Reads the interchanges of one text, and counts what the limits bound."""

    def __init__(self, text: str, limits: ParseLimits) -> None:
        self.text = text
        self.limits = limits
        self.segments_left = limits.segments
        self.sets_left = limits.sets

    def read(self, header: ParsedHeader) -> tuple[Interchange, int]:
        """Read one interchange; return it and the index behind it."""
        interchange = Interchange(header.segment, header.delimiters, header.problems)
        text, (element, _, _, terminator) = self.text, header.delimiters
        if terminator == NO_SEPARATOR:
            return interchange, len(text)
        trailer = _end_pattern(element, terminator).search(text, header.end)
        body_end = end = trailer.start() if trailer else len(text)
        # A missing end is reported first: it explains what else is wrong.
        if trailer is None:
            add_problem(interchange.problems, "023", "the data ends before the IEA segment")
        elif text.startswith("ISA", end):
            add_problem(interchange.problems, "022", "the next ISA segment comes before the IEA segment")
        else:
            end = self._read_trailer(interchange, end)
        self._read_body(interchange, self._split_body(header.end, body_end, terminator))
        check_interchange(
            interchange.header,
            interchange.trailer,
            len(interchange.groups),
            interchange.problems,
            has_content=bool(interchange.groups or interchange.acknowledgments),
        )
        return interchange, end

    def _split_body(self, start: int, end: int, terminator: str) -> list[str]:
        """Return the segments between ISA and IEA. Line breaks after a terminator are no part of a segment."""
        text = self.text
        self.segments_left -= text.count(terminator, start, end)
        if self.segments_left < 0:
            raise InterchangeTooLarge(f"there are more than {self.limits.segments} segments; send fewer sets at once")
        parts = text[start:end].split(terminator)
        if text.find("\n", start, end) >= 0 or text.find("\r", start, end) >= 0:
            parts = [part.lstrip("\r\n") for part in parts]
            if terminator in "\r\n":
                parts = [part for part in parts if part]
        if parts and not parts[-1]:
            parts.pop()
        return parts

    def _read_trailer(self, interchange: Interchange, start: int) -> int:
        """Read the IEA segment at an index; return the index behind it."""
        element, _, _, terminator = interchange.delimiters
        match = _rest_of_segment(terminator).match(self.text, start)
        end = match.end() if match else len(self.text)
        interchange.trailer = X12Segment(self.text[start:end].split(element), interchange.delimiters)
        if self.text.startswith(terminator, end):
            return end + 1
        if terminator not in "\r\n":
            is_followed = _NOT_WHITESPACE.search(self.text, end) is not None
            code, place = ("022", "the next line") if is_followed else ("023", "the end")
            add_problem(interchange.problems, code, f"the IEA segment has no terminator before {place}")
        return end

    def _read_body(self, interchange: Interchange, parts: list[str]) -> None:
        element = interchange.delimiters.element
        ids = {f"{id}{element}": id for id in ("GS", "GE", "ST", "SE")} | {id: id for id in _ENVELOPE_IDS}
        body = _InterchangeBody(interchange, parts)
        for index, part in enumerate(parts):
            id = ids.get(part[:3])
            if id is not None:
                body.read_envelope_segment(id, index)
                self._check_sets(body)
            elif body.set_start < 0:
                body.report_stray(index)
        body.close_group(None, len(parts))
        self._check_sets(body)
        self.sets_left -= body.set_count

    def _check_sets(self, body: "_InterchangeBody") -> None:
        if body.set_count > self.sets_left:
            raise InterchangeTooLarge(f"there are more than {self.limits.sets} sets; send fewer at once")


class _InterchangeBody:
    """The segments between ISA and IEA, sorted into groups and sets. A header or trailer closes what is open."""

    def __init__(self, interchange: Interchange, parts: list[str]) -> None:
        self.interchange = interchange
        self.parts = parts
        self.group: FunctionalGroup | None = None
        self.group_numbers: set[str] = set()
        self.set_start = -1
        """The index of the ST segment of the open set; -1 if none is open."""
        self.set_count = 0

    def read_envelope_segment(self, id: str, index: int) -> None:
        """Read a GS, GE, ST, SE or TA1 segment. A TA1 within a set is left to the validation of the set."""
        if id == "GS":
            self.close_group(None, index)
            self._open_group(self._segment(index))
        elif id == "GE" and self.group is not None:
            self.close_group(self._segment(index), index)
        elif id == "ST" and self.group is not None:
            self._close_set(index, is_complete=False)
            self.set_start = index
        elif id == "SE" and self.set_start >= 0:
            self._close_set(index + 1, is_complete=True)
        elif id == "TA1" and not self.interchange.groups:
            self.interchange.acknowledgments.append(self._segment(index))
        elif self.set_start < 0:
            self.report_stray(index)

    def report_stray(self, index: int) -> None:
        """Report a segment outside of a group or set."""
        shown = show_value(self.parts[index])
        text = f"the segment {shown} stands outside of a set, where only envelope segments are expected"
        add_problem(self.interchange.problems, "022", text)

    def close_group(self, trailer: X12Segment | None, index: int) -> None:
        """Close the open group, if there is one, and the set in it."""
        self._close_set(index, is_complete=False)
        group, self.group = self.group, None
        if group is not None:
            group.trailer = trailer
            check_group_trailer(group.header, trailer, len(group.sets), group.problems)
            check_set_numbers(group.sets)

    def _open_group(self, header: X12Segment) -> None:
        group = self.group = FunctionalGroup(header)
        self.interchange.groups.append(group)
        number = group.control_number
        if number in self.group_numbers:
            add_problem(group.problems, "19", f"GS06 {show_value(number)} is used twice in the interchange")
        self.group_numbers.add(number)
        check_group_header(header, group.problems, self.interchange.problems)

    def _close_set(self, end: int, *, is_complete: bool) -> None:
        if self.set_start < 0 or self.group is None:
            return
        texts = self.parts[self.set_start : end]
        transaction = TransactionSet(texts, self.interchange.delimiters, self.group.version)
        check_set(transaction, self.group.functional_code, is_complete=is_complete)
        self.group.sets.append(transaction)
        self.set_start = -1
        self.set_count += 1

    def _segment(self, index: int) -> X12Segment:
        delimiters = self.interchange.delimiters
        return X12Segment(self.parts[index].split(delimiters.element), delimiters)
