"""TA1 and 999: which interchanges, groups and sets were accepted, and where the errors are.

One 999 answers one functional group. A group of 999 sets (`FunctionalGroup.is_acknowledgment`) is never answered.
"""

import re
from collections.abc import Sequence
from typing import Literal

from clerkship.formats.x12.charset import clean_value
from clerkship.formats.x12.envelope_checks import is_group_number, parse_count
from clerkship.formats.x12.header import ISA_WIDTHS
from clerkship.formats.x12.interchange import FunctionalGroup, Interchange
from clerkship.formats.x12.problems import EnvelopeProblem, SegmentError
from clerkship.formats.x12.segment import X12Segment, build_x12_segment
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import SetWriter

ACK_999_VERSION = "005010X231A1"
SetStatus = Literal["A", "E", "R"]
"""IK501: accepted, accepted with errors, rejected."""
GroupStatus = Literal["A", "E", "P", "R"]
"""AK901: accepted, accepted with errors, partly accepted, rejected."""
MAX_SEGMENTS_PER_SET = 100
"""IK3 segments written for one set; the set is rejected however many there are."""
MAX_SEGMENTS_PER_GROUP = 5_000
MAX_ELEMENTS_PER_SEGMENT = 20
MAX_LOOP_LENGTH = 4
"""IK303 has at most 4 characters in version 5010, so `2100C` is reported as `2100`."""
MAX_VALUE_LENGTH = 99
"""IK404 has at most 99 characters."""
MAX_TRACE_LENGTH = 35
"""The reference in CTX01 has at most 35 characters, TRN02 up to 50."""
MAX_ELEMENT_POSITION = 99
"""The position in IK401 has at most 2 digits."""
MAX_DECLARED_SETS = 999_999
"""AK902 has at most 6 digits."""
MAX_CODES = 5
"""IK5 and AK9 have room for five codes each."""


def build_999(
    group: FunctionalGroup,
    errors_per_set: Sequence[Sequence[SegmentError]],
    control_number: str = "0001",
    *,
    accepts_errors: bool = False,
) -> TransactionSet:
    """Build the 999 for a group, from the problems of its envelopes and the errors of each of its sets.

    A set with errors is rejected; with `accepts_errors`, one whose envelope has no problems is accepted with errors
    (E). A group whose own envelope has problems is rejected as a whole: then only sets with errors are listed.
    """
    writer = SetWriter("999", control_number, ACK_999_VERSION)
    writer.add("AK1", group.functional_code[:2], _group_number(group), group.version[:12])
    statuses: list[SetStatus] = []
    segments_left = MAX_SEGMENTS_PER_GROUP
    for transaction, errors in zip(group.sets, errors_per_set, strict=True):
        status = decide_set_status(transaction, errors, accepts_errors=accepts_errors)
        statuses.append("R" if group.problems else status)
        if status != "A" or not group.problems:
            reported = min(len(errors), MAX_SEGMENTS_PER_SET, segments_left)
            segments_left -= reported
            _write_set(writer, transaction, status, errors, reported)
    accepted = sum(status != "R" for status in statuses)
    received = len(group.sets)
    codes = _first_codes(group.problems)
    writer.add("AK9", decide_group_status(group, statuses), _declared_sets(group), received, accepted, *codes)
    return writer.build()


def decide_set_status(
    transaction: TransactionSet, errors: Sequence[SegmentError], *, accepts_errors: bool = False
) -> SetStatus:
    """Return IK501 for a set."""
    if transaction.problems:
        return "R"
    if not errors:
        return "A"
    return "E" if accepts_errors else "R"


def decide_group_status(group: FunctionalGroup, statuses: Sequence[SetStatus]) -> GroupStatus:
    """Return AK901 for a group whose sets have these statuses."""
    rejected = statuses.count("R")
    if group.problems or rejected == len(statuses):
        return "R"
    if rejected:
        return "P"
    return "E" if "E" in statuses else "A"


def _write_set(
    writer: SetWriter, transaction: TransactionSet, status: SetStatus, errors: Sequence[SegmentError], reported: int
) -> None:
    """Write AK2 to IK5, with an IK3 for the first `reported` errors."""
    number = transaction.control_number[:9] or "0000"
    writer.add("AK2", transaction.code[:3] or "000", number, transaction.header.raw(3)[:35])
    for error in errors[:reported]:
        _write_segment_error(writer, error)
    writer.add("IK5", status, *find_set_codes(transaction, errors))


def find_set_codes(transaction: TransactionSet, errors: Sequence[SegmentError]) -> list[str]:
    """Return the codes of IK502 and the following for a set."""
    codes = _first_codes(transaction.problems)
    if errors:
        # 5 stands for errors of the standard's syntax, I5 for those of the implementation guide.
        kinds = {_is_guide_error(error) for error in errors}
        codes += [code for code, kind in (("5", False), ("I5", True)) if kind in kinds and code not in codes]
    return codes[:MAX_CODES]


def _write_segment_error(writer: SetWriter, error: SegmentError) -> None:
    writer.add("IK3", clean_value(error.segment)[:3] or "??", error.position, error.loop[:MAX_LOOP_LENGTH], error.code)
    if error.trace:
        writer.add("CTX", ("TRN02", clean_value(error.trace)[:MAX_TRACE_LENGTH]))
    for element in error.elements[:MAX_ELEMENTS_PER_SEGMENT]:
        place = (min(element.position, MAX_ELEMENT_POSITION), element.component, element.repeat)
        value = clean_value(element.value)[:MAX_VALUE_LENGTH]
        writer.add("IK4", place, element.element_number, element.code, value)


def _is_guide_error(error: SegmentError) -> bool:
    return all(each.code.startswith("I") for each in error.elements or (error,))


def _first_codes(problems: Sequence[EnvelopeProblem]) -> list[str]:
    return [problem.code for problem in problems[:MAX_CODES]]


def _group_number(group: FunctionalGroup) -> str:
    """Return GS06; 0 if it is not a number, because AK102 must be one."""
    return group.control_number if is_group_number(group.control_number) else "0"


def _declared_sets(group: FunctionalGroup) -> int:
    """Return GE01 for AK902; the number of sets received if it states none."""
    declared = parse_count(group.trailer.raw(1)) if group.trailer else None
    return len(group.sets) if declared is None else min(declared, MAX_DECLARED_SETS)


NO_ERROR = "000"
"""TA105 of an interchange without problems."""


def build_ta1(interchange: Interchange, problem: EnvelopeProblem | None = None) -> X12Segment:
    """Build the TA1 segment that accepts an interchange, or rejects it because of a problem.

    A TA1 has room for one problem. `render_interchange` writes it after ISA. Do not build one for an interchange that
    holds only acknowledgments (`Interchange.is_acknowledgment`): these are never answered.
    """
    # TA101 to TA103 repeat ISA13, ISA09 and ISA10: all digits, and of fixed width, whatever ISA has.
    copied = (_to_digits(interchange.header.raw(number), ISA_WIDTHS[number - 1]) for number in (13, 9, 10))
    return build_x12_segment("TA1", *copied, "R" if problem else "A", problem.code if problem else NO_ERROR)


def _to_digits(value: str, width: int) -> str:
    """Return the digits of a value, with zeros before them up to a width."""
    return re.sub("[^0-9]", "", value)[-width:].zfill(width)
