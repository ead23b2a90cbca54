"""`x12_request` and `x12_response`: the agent sent or received the expected transaction."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import MAX_NAMES, compare_texts, describe_fields, matches_texts
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.formats.x12.grammar import Grammar
from clerkship.formats.x12.grammar_tables import load_grammar
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment_path import BadSegmentPath, parse_segment_path
from clerkship.formats.x12.validation import validate_set
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.simulators.x12.records import TA1, X12Transaction
from clerkship.simulators.x12.state import X12State


def _check_path(path: str) -> str:
    parse_segment_path(path)
    return path


def _to_code(value: Any) -> Any:
    """Return a transaction code that YAML reads as a number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _find_mistake(path: str, grammar: Grammar) -> str:
    """Return what a grammar lacks of a path; empty if it has all of it."""
    try:
        parse_segment_path(path).check(grammar)
    except BadSegmentPath as mistake:
        return str(mistake)
    return ""


SegmentPathText = Annotated[str, AfterValidator(_check_path)]
"""A path in a transaction, such as `2100C/EB*1`; an invalid one is an error with its line."""


class X12Field(Frozen):
    """A path in a transaction, and a literal or matcher for its value; one of several values must match."""

    path: SegmentPathText
    expected: Expected


class ParsedTransaction:
    """A transaction with its loops."""

    def __init__(self, record: X12Transaction) -> None:
        self.record = record

    @cached_property
    def tree(self) -> Loop:
        """The loops of the transaction; only its segments if it is a TA1 or has no known structure."""
        transaction = self.record.parse()
        if self.record.transaction == TA1:
            return Loop("", transaction.segments)
        return validate_set(transaction).tree

    def values(self, path: str) -> list[str]:
        """Return the values at a path that are not empty."""
        return parse_segment_path(path).find_values(self.tree)


class TransactionAssertion(SelectionAssertion):
    """An assertion about transactions of a clearinghouse."""

    simulator: ClassVar[str | None] = "x12"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "transaction"
    codes: ClassVar[tuple[str, ...]] = ()
    """The transactions that it can be about."""
    grammars: ClassVar[tuple[str, ...]] = ()
    """The grammars of these transactions, as far as there are any."""
    transaction: Annotated[
        str | None, BeforeValidator(_to_code), Field(description="ST01 of the transaction, or TA1; any if not given")
    ] = None
    correlate_by: Annotated[
        dict[SegmentPathText, Expected],
        Field(description="path -> literal or matcher that selects transactions, such as {TRN*2: ELG1T}"),
    ] = {}
    fields: Annotated[tuple[X12Field, ...], Field(description="paths, and the expected values")] = ()
    sandbox: Annotated[str | None, Field(description="which clearinghouse; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.transaction is not None and self.transaction not in self.codes:
            raise ValueError(f"unknown transaction {self.transaction[:20]!r} (expected: {', '.join(self.codes)})")
        mistakes = list(self._find_path_mistakes())
        if mistakes:
            raise build_located_error(mistakes)
        return self

    def _find_path_mistakes(self) -> Iterator[tuple[FieldPath, str]]:
        """Find paths that no such transaction can have. With `none`, a criterion with one would pass every agent."""
        paths: list[tuple[FieldPath, str]] = [(("correlate_by", path), path) for path in self.correlate_by]
        paths += [(("fields", place, "path"), field.path) for place, field in enumerate(self.fields)]
        grammars = [load_grammar(key) for key in self.grammars if self.transaction in (None, key[:3])] if paths else []
        for place, path in paths:
            mistakes = [mistake for grammar in grammars if (mistake := _find_mistake(path, grammar))]
            if grammars and len(mistakes) == len(grammars) and not (self.transaction is None and path.startswith(TA1)):
                yield place, mistakes[0]

    def find_candidates(self, state: X12State) -> Iterable[X12Transaction]:
        """Return the transactions that the assertion is about."""
        raise NotImplementedError

    def _list_candidates(self, evidence: Evidence) -> list[ParsedTransaction]:
        state = evidence.state(X12State, self.sandbox)
        about = narrow(
            evidence,
            self.find_candidates(state),
            lambda each: read_content(state, each),
            forbids=self.passes_on_inaction,
        )
        return [ParsedTransaction(each) for each in about]

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each transaction that is selected."""
        for each in self._list_candidates(evidence):
            if self._is_selected(each):
                yield Compared(_name_transaction(each.record), tuple(self._compare(each)))

    def _is_selected(self, parsed: ParsedTransaction, ignore_path: str = "") -> bool:
        if self.transaction not in (None, parsed.record.transaction):
            return False
        return all(
            matches_texts(expected, parsed.values(path))
            for path, expected in self.correlate_by.items()
            if path != ignore_path
        )

    def _compare(self, parsed: ParsedTransaction) -> Iterator[FieldCheck]:
        seq = parsed.record.seq
        for field in self.fields:
            yield compare_texts(field.path, field.expected, parsed.values(field.path), seq)
        if not self.fields:
            code = parsed.record.transaction
            yield FieldCheck(path="transaction", expected=self.transaction or code, actual=code, passed=True, seq=seq)

    def describe_selection(self, evidence: Evidence) -> str:
        where = ", ".join(f"{path} is {describe_expected(expected)}" for path, expected in self.correlate_by.items())
        return f"{self.describe_outcome()} {self.transaction or 'transaction'}" + (f" where {where}" if where else "")

    def describe_outcome(self) -> str:
        """Return what became of the transactions, in a word."""
        raise NotImplementedError

    def describe_expectation(self) -> str:
        return describe_fields(self.fields)

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterable[str]:
        """Yield which transactions there are, if none is selected."""
        candidates = self._list_candidates(evidence) if not compared else []
        hints = list(self._explain_missing(candidates))
        return hints if hints or not candidates else [f"there is {list_transactions(candidates)}"]

    def _explain_missing(self, candidates: Sequence[ParsedTransaction]) -> Iterator[str]:
        """Name each condition without which a transaction would be selected."""
        for path, expected in self.correlate_by.items():
            selected = [each for each in candidates if self._is_selected(each, path)]
            if selected:
                values = ", ".join(selected[0].values(path)) or "nothing"
                condition = f"{path} {describe_expected(expected)}"
                yield f"without the condition {condition}: {list_transactions(selected)}, with {values}"


def read_content(state: X12State, record: X12Transaction) -> ItemContent:
    """Return what tells whom a transaction is about: what it says, and the request that it answers.

    An acknowledgment names no patient: it is about what the agent sent in the interchange.
    """
    related = [record.other]
    if record.outcome == "acknowledgment":
        related = [each.id for each in state.transactions.values() if each.interchange == record.interchange]
    records = [record, *(state.transactions[id] for id in related if id in state.transactions)]
    return ItemContent([segment for each in records for segment in each.edi.split(each.delimiters.segment)])


def list_transactions(transactions: Sequence[ParsedTransaction]) -> str:
    """List the first few transactions, and how many more there are."""
    names = [_name_transaction(each.record) for each in transactions]
    return occurrence.join_first(names, most=MAX_NAMES) or "none"


def _name_transaction(record: X12Transaction) -> str:
    trace = f" with trace {record.trace}" if record.trace else ""
    return f"{record.transaction} {record.control_number}{trace} (#{record.seq})"


class X12RequestSent(TransactionAssertion):
    """A transaction that the agent sent (270, 276, 278; or 999, TA1) and that was accepted has these values; or the
    number of such transactions is as expected.
    """

    name: ClassVar[str] = "x12_request"
    codes: ClassVar[tuple[str, ...]] = ("270", "276", "278", "837", "999", "TA1")
    grammars: ClassVar[tuple[str, ...]] = ("270", "276", "278_request", "278_inquiry", "999")
    outcome: Annotated[
        Literal["accepted", "refused", "any"], Field(description="accepted ones, those refused with a 999, or both")
    ] = "accepted"

    def find_candidates(self, state: X12State) -> Iterable[X12Transaction]:
        """Return what the agent sent; an acknowledgment is never refused."""
        outcomes = {"accepted": ("accepted", "noted"), "refused": ("refused",), "any": ("accepted", "noted", "refused")}
        return (each for each in state.transactions.values() if each.outcome in outcomes[self.outcome])

    def describe_outcome(self) -> str:
        return "sent" if self.outcome == "any" else self.outcome


class X12ResponseReceived(TransactionAssertion):
    """A transaction that the agent received (271, 277, 278, 999 or TA1) has these values; or the number of such
    transactions is as expected. The reply to a batch counts once it is delivered.
    """

    name: ClassVar[str] = "x12_response"
    codes: ClassVar[tuple[str, ...]] = ("271", "277", "278", "999", "TA1")
    grammars: ClassVar[tuple[str, ...]] = ("271", "277", "278_response", "278_inquiry_response", "999")

    def find_candidates(self, state: X12State) -> Iterable[X12Transaction]:
        """Return what the agent received."""
        return (each for each in state.visible_transactions() if not each.is_from_agent)

    def describe_outcome(self) -> str:
        return "received"
