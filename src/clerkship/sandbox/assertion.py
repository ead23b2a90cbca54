"""The contract of an assertion: a model whose fields are its YAML keys, and one pure function of the evidence."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import model_validator

from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.call import AssertionCall
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import is_matcher, matches_expected
from clerkship.model.path import lookup
from clerkship.model.run import FieldCheck, PagePicture
from clerkship.model.scenario import Expected

UNSCOPED_CONVERSATION = (
    "it checks the conversation or what the agent reports of itself, which is not divided by records"
)
"""Why the assertions of scenario files cannot be limited to a record."""
Engine = Literal["calm", "mantle"]
"""The engine of a conversational agent: `calm` has flows, slots and actions; `mantle` has skills, memory and tools."""


class Check(NamedTuple):
    """The result of an assertion: a sentence, rows that show each expectation beside the actual value, and pages."""

    passed: bool
    score: float
    detail: str
    evidence: tuple[FieldCheck, ...] = ()
    pictures: tuple[PagePicture, ...] = ()

    @classmethod
    def of(cls, passed: bool, detail: str, *evidence: FieldCheck) -> Self:
        """Return a result with score 1 or 0."""
        return cls(passed=passed, score=float(passed), detail=detail, evidence=evidence)

    @classmethod
    def of_fields(cls, fields: Sequence[FieldCheck], detail: str) -> Self:
        """Return a result whose score is the share of rows that passed."""
        passed_count = sum(field.passed for field in fields)
        score = passed_count / len(fields) if fields else 1.0
        return cls(passed=passed_count == len(fields), score=score, detail=detail, evidence=tuple(fields))


def compare_value(path: str, expected: Any, actual: Any, seq: int | None = None) -> FieldCheck:
    """Compare a value with an expectation, and return the row."""
    return field_check(path, expected, actual, passed=matches_expected(expected, actual), seq=seq)


def compare_given(values: Iterable[tuple[str, Any, Any]], seq: int | None = None) -> Iterator[FieldCheck]:
    """Compare values by path, expectation and actual value, and yield a row for each expectation that is not None."""
    return (compare_value(path, expected, actual, seq) for path, expected, actual in values if expected is not None)


class FieldMatch(Frozen):
    """A dotted path in some data, and the value that is expected there."""

    path: str
    expected: Expected

    def compare(self, data: Any) -> FieldCheck:
        """Compare the value at the path."""
        return compare_value(self.path, self.expected, lookup(data, self.path))


class Difference(NamedTuple):
    """A difference between our reading of an assertion and Rasa's."""

    topic: str
    ours: str
    rasa: str


class Assertion(Frozen):
    """A typed check. Its fields are the keys of its YAML."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    simulator: ClassVar[str | None] = None
    """The kind of simulator or domain whose final state it reads. With several, the field `sandbox` names one."""
    scoped: ClassVar[bool] = False
    """Whether a criterion's `input_entity_id` limits what it checks; otherwise that key is a mistake beside it."""
    unscoped_reason: ClassVar[str] = ""
    """Why a record cannot limit what it checks, as the end of a sentence; for an assertion that is not `scoped`."""
    entity_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that name entities of the task."""
    judged: ClassVar[bool] = False
    """Whether it asks a model. Without one it can be skipped, but it never passes."""
    holds_on_inaction: ClassVar[bool] = False
    """Whether an assertion that reads a final state can pass when the agent does nothing. `validate` warns about it
    inside `any_of`. One that reads the log alone need not set it, since `validate` evaluates it on an empty log."""
    single_turn: ClassVar[bool] = False
    """Whether it assesses a single turn of a conversation, without what was said before. `validate` warns about it in a
    conversation of several turns."""
    events: ClassVar[tuple[type[Payload], ...]] = ()
    """Agent events that it looks for. A warning is shown for an agent whose engine never reports them."""
    reported_by: ClassVar[tuple[str, ...]] = ()
    """Kinds of agent events, such as `agent.slot.set`. If the agent reported none of them and names no response, a pass
    means nothing, and the criterion is not judged."""
    shorthand: ClassVar[str | None] = None
    """The field that a bare value (text, a list or a matcher) sets."""
    engines: ClassVar[tuple[Engine, ...]] = ()
    """The engines whose scenario files have it; empty if it is ours."""
    differences: ClassVar[tuple[Difference, ...]] = ()
    """Differences with `compat: rasa`."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        if value is None:
            return {}
        if cls.shorthand is not None and (is_matcher(value) or not isinstance(value, dict | Assertion)):
            return {cls.shorthand: value}
        return value

    @classmethod
    def reads(cls) -> frozenset[str]:
        """Return the kinds of agent events that it looks for; empty if it looks at something else."""
        return frozenset(event.kind for event in cls.events)

    def needs(self) -> Sequence[frozenset[str]]:
        """Return the kinds of agent events without which it fails: at least one of each set must be reported."""
        kinds = self.reads()
        return (kinds,) if kinds else ()

    @property
    def asks_model(self) -> bool:
        """Whether this assertion, or one nested in it, asks a model."""
        return self.judged

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing. Override it if that depends on the arguments."""
        return self.holds_on_inaction

    def explain_unscoped(self, record_type: str | None = None) -> str:
        """Return why a record of a type cannot limit what it checks; empty if it can.

        Override it if that depends on the arguments or on the type, which is None if it is not known.
        """
        return "" if self.scoped else self.unscoped_reason or "it does not use the record"

    def resolve(self, build: Callable[[AssertionCall], "Assertion"]) -> Self:
        """Return a copy with its nested assertions built; the assertion itself if it has none."""
        return self

    def without_model(self) -> "Assertion | None":
        """Return the part that needs no model, if its pass decides the whole; None if there is none."""
        return None if self.asks_model else self

    @abstractmethod
    def check(self, evidence: Evidence) -> Check:
        """Check the evidence. An exception becomes the error of this criterion alone."""
