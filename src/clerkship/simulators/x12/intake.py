"""Decide what becomes of an interchange, of its groups and of its transaction sets.

An interchange is refused with a TA1, a set or a group with a 999. What a payer refuses is an answer, not an error.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clerkship.formats.x12.acknowledgments import find_set_codes
from clerkship.formats.x12.envelope_checks import FUNCTIONAL_CODES
from clerkship.formats.x12.interchange import FunctionalGroup, Interchange
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.problems import EnvelopeProblem, SegmentError, show_value
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import ValidatedSet, validate_set
from clerkship.simulators.x12.config import X12Config

MAX_REASONS = 20
"""Errors of one set that the log explains."""
ANSWERED_SETS: Mapping[str, str] = {"270": "271", "276": "277", "278": "278"}
"""ST01 of the sets that are answered -> ST01 of the answer."""
REQUEST_GRAMMARS = ("270", "276", "278_request", "278_inquiry")
"""Grammars of the sets that are answered."""
SUPPORTED_RELEASE = "005010X"
"""The beginning of each supported GS08."""
UNSUPPORTED_SET = "1"
"""IK502 (X12 code list 718)."""
LOOP_OVER_LIMIT = "4"
"""IK304 (X12 code list 620)."""
UNSUPPORTED_GROUP, UNSUPPORTED_VERSION = "1", "2"
"""AK905 (X12 code list 716)."""


class SetVerdict(NamedTuple):
    """Whether a transaction set is accepted, and why not."""

    transaction: TransactionSet
    tree: Loop | None
    """Its loops; None if it is refused before it is parsed."""
    errors: tuple[SegmentError, ...]

    @property
    def is_accepted(self) -> bool:
        """Whether it is processed."""
        return not self.errors and not self.transaction.problems

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of IK502 and the following."""
        return tuple(find_set_codes(self.transaction, self.errors))

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong, for people."""
        texts = [problem.text for problem in self.transaction.problems]
        texts += [text for error in self.errors[:MAX_REASONS] for text in _describe_error(error)]
        return tuple(texts[:MAX_REASONS])


def _describe_error(error: SegmentError) -> Iterator[str]:
    where = f"{error.segment} (segment {error.position}{error.loop and f', loop {error.loop}'})"
    if not error.elements:
        yield f"{where}: {error.text}"
    for element in error.elements:
        yield f"{where}: {element.text}"


def find_interchange_problem(
    interchange: Interchange, config: X12Config, used: frozenset[str] | set[str]
) -> EnvelopeProblem | None:
    """Return why an interchange is refused; None if it is accepted. `used` are the ISA13 of the sender so far."""
    problem = next(iter(interchange.problems), None)
    return (
        problem
        or _check_sender(interchange, config)
        or _check_receiver(interchange, config)
        or _check_usage(interchange, config)
        or _check_control_number(interchange, config, used)
    )


def _check_sender(interchange: Interchange, config: X12Config) -> EnvelopeProblem | None:
    qualifier, id = interchange.sender_qualifier, interchange.sender
    known = [partner for partner in config.senders if partner.id == id]
    if not known:
        return EnvelopeProblem("006", f"the sender (ISA06) {show_value(id)} is not known here")
    if not any(partner.qualifier == qualifier for partner in known):
        expected = known[0].qualifier
        return EnvelopeProblem("005", f"ISA05 of the sender {id} is {show_value(qualifier)} (expected: {expected})")
    return None


def _check_receiver(interchange: Interchange, config: X12Config) -> EnvelopeProblem | None:
    qualifier, id, own = interchange.receiver_qualifier, interchange.receiver, config.receiver
    if id != own.id:
        return EnvelopeProblem("008", f"the receiver (ISA08) is {show_value(id)} (expected: {own.id})")
    if qualifier != own.qualifier:
        return EnvelopeProblem("007", f"ISA07 is {show_value(qualifier)} (expected: {own.qualifier})")
    return None


def _check_usage(interchange: Interchange, config: X12Config) -> EnvelopeProblem | None:
    if interchange.usage == config.usage:
        return None
    return EnvelopeProblem("020", f"ISA15 is {show_value(interchange.usage)} (expected: {config.usage})")


def _check_control_number(
    interchange: Interchange, config: X12Config, used: frozenset[str] | set[str]
) -> EnvelopeProblem | None:
    number = interchange.control_number
    if number in used:
        return EnvelopeProblem("025", f"the control number (ISA13) {number} was used before")
    if config.control_numbers == "ascending" and used and number < (highest := max(used)):
        return EnvelopeProblem("018", f"ISA13 is {number} (expected: more than {highest}, the highest so far)")
    return None


def check_group(group: FunctionalGroup) -> None:
    """Add the problems of a group for which this receiver refuses it: its functional code or its version."""
    if group.functional_code not in FUNCTIONAL_CODES.values():
        text = f"groups {show_value(group.functional_code)} (GS01) are not supported (expected: HS, HR or HI)"
        group.problems.append(EnvelopeProblem(UNSUPPORTED_GROUP, text))
    elif not group.version.startswith(SUPPORTED_RELEASE):
        text = f"the version {show_value(group.version)} (GS08) is not supported (expected: 005010 and its guide)"
        group.problems.append(EnvelopeProblem(UNSUPPORTED_VERSION, text))


def check_transaction(transaction: TransactionSet, config: X12Config) -> SetVerdict:
    """Check one set of a group that is accepted. The problems that this receiver finds are added to the set."""
    excess = _find_excess_level(transaction, config.max_levels)
    if excess is not None:
        return SetVerdict(transaction, None, (excess,))
    validated = validate_set(transaction, config.character_set)
    problem = _find_unsupported(transaction.code, validated)
    if problem is not None:
        transaction.problems.append(problem)
    if transaction.problems:
        return SetVerdict(transaction, None, ())
    return SetVerdict(transaction, validated.tree, tuple(validated.errors))


def _find_excess_level(transaction: TransactionSet, limit: int) -> SegmentError | None:
    """Return an error for the first HL segment above the limit."""
    start = f"HL{transaction.delimiters.element}"
    places = [place for place, text in enumerate(transaction.segment_texts, 1) if text.startswith(start)]
    if len(places) <= limit:
        return None
    text = f"the set has {len(places)} levels (expected: at most {limit}); send fewer patients or services at once"
    return SegmentError("HL", places[limit], "", LOOP_OVER_LIMIT, text)


def _find_unsupported(code: str, validated: ValidatedSet) -> EnvelopeProblem | None:
    """Return why a set is not processed here, however correct it is: its ST01, or the version of its guide."""
    if code in ANSWERED_SETS:
        if validated.unsupported is not None:
            return EnvelopeProblem(validated.unsupported.error, validated.unsupported.text)
        if validated.grammar is not None and validated.grammar.key in REQUEST_GRAMMARS:
            return None
    reason = validated.unsupported.text if validated.unsupported else f"transaction {code} is an answer of a payer"
    return EnvelopeProblem(UNSUPPORTED_SET, f"{reason} (expected: {', '.join(ANSWERED_SETS)})")
