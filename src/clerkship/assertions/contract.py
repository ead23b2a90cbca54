"""What a check is: a model whose fields are its YAML, and one pure function of the evidence."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import model_validator

from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.call import AssertionCall
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import is_matcher, matches_expected
from clerkship.model.path import lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected

Engine = Literal["calm", "mantle"]
"""What a conversational agent may run on: flows, slots and actions; or skills, memory and tools."""


class Check(NamedTuple):
    """How a check came out: a sentence, and each expectation beside what was found."""

    passed: bool
    score: float
    detail: str
    evidence: tuple[FieldCheck, ...] = ()

    @classmethod
    def of(cls, passed: bool, detail: str, *evidence: FieldCheck) -> Self:
        """All or nothing."""
        return cls(passed=passed, score=float(passed), detail=detail, evidence=evidence)

    @classmethod
    def of_fields(cls, fields: Sequence[FieldCheck], detail: str) -> Self:
        """In part: the share of the fields that hold."""
        good = sum(field.passed for field in fields)
        score = good / len(fields) if fields else 1.0
        return cls(passed=good == len(fields), score=score, detail=detail, evidence=tuple(fields))


def compare_value(path: str, expected: Any, actual: Any) -> FieldCheck:
    """One expectation beside what was found."""
    return field_check(path, expected, actual, passed=matches_expected(expected, actual))


class FieldMatch(Frozen):
    """A dotted path in some data, and what must be there."""

    path: str
    expected: Expected

    def compare(self, data: Any) -> FieldCheck:
        """What is there beside it."""
        return compare_value(self.path, self.expected, lookup(data, self.path))


class Difference(NamedTuple):
    """Where we read an assertion otherwise than the system that scenario files come from."""

    topic: str
    ours: str
    rasa: str


class Assertion(Frozen):
    """A typed check. Its fields are what its YAML may say."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    simulator: ClassVar[str | None] = None
    """The kind of simulator or domain whose final state it reads; `sandbox` names which, unless there is only one."""
    scoped: ClassVar[bool] = False
    """Whether a criterion's `input_entity_id` narrows what it looks at; where it does not, it is a label alone."""
    entity_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of it that name entities of the task."""
    judged: ClassVar[bool] = False
    """Whether a model is asked; without one it can be skipped, and is never taken for passed."""
    holds_on_inaction: ClassVar[bool] = False
    """Whether it can pass when the agent does nothing, for one that reads a state: `validate` warns about it inside
    `any_of`. One that reads the log alone need not say: it is evaluated on a run in which nothing happened."""
    events: ClassVar[tuple[type[Payload], ...]] = ()
    """Events of the agent's own that it looks for; an agent whose engine writes none of them is warned about."""
    shorthand: ClassVar[str | None] = None
    """The field that a bare value (text, a list or a matcher) stands for."""
    engines: ClassVar[tuple[Engine, ...]] = ()
    """Which engines' scenario files know it; none if it is ours."""
    differences: ClassVar[tuple[Difference, ...]] = ()
    """Where `compat: rasa` reads it otherwise than we do."""

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
        """The kinds of the agent's own events that it looks for; none where it looks at something else."""
        return frozenset(event.kind for event in cls.events)

    def needs(self) -> Sequence[frozenset[str]]:
        """The kinds of the agent's own events without which it fails: one of each set must be reported."""
        kinds = self.reads()
        return (kinds,) if kinds else ()

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked, by this assertion or by one nested in it."""
        return self.judged

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing; override it where that depends on the arguments."""
        return self.holds_on_inaction

    def resolve(self, build: Callable[[AssertionCall], "Assertion"]) -> Self:
        """Return a copy whose nested assertions are built; the assertion itself if it has none."""
        return self

    def without_model(self) -> "Assertion | None":
        """Return what of the assertion needs no model, if a pass of that decides the whole; None if nothing does."""
        return None if self.asks_model else self

    @abstractmethod
    def check(self, evidence: Evidence) -> Check:
        """Look at the evidence and say. An exception is this criterion's error, nobody else's."""
