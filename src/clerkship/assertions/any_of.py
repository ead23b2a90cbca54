"""`any_of`: at least one of several assertions passes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, PrivateAttr

from clerkship.assertions.evaluation import AssertionOutcome, Undecided, evaluate
from clerkship.events.evidence import Evidence
from clerkship.model.call import ANY_OF, AssertionCall
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check

MAX_NESTED_ROWS = 20
"""The most rows of evidence of one nested assertion."""
MAX_PICTURES = 20
"""The most pages that are shown of all nested assertions."""


def _at_least_two(assertions: tuple[AssertionCall, ...]) -> tuple[AssertionCall, ...]:
    if len(assertions) < 2:
        raise ValueError("expected at least two assertions; write a single one without `any_of`")
    return assertions


class AnyOf(Assertion):
    """At least one of the assertions passes; the score is the best of theirs. One that cannot be checked does not
    matter if another passes; otherwise the criterion is an error. Assertions that a model judges are checked last, and
    only if no other passes; without a judge the criterion is then skipped. An assertion that also passes when the
    agent does nothing, such as `never`, `fhir_no_other_changes` or `file_present` with `absent`, makes the whole pass
    then: `clerkship validate` warns about those that declare it and those that pass on an empty log."""

    name: ClassVar[str] = ANY_OF
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "assertions"
    assertions: Annotated[
        tuple[AssertionCall, ...],
        AfterValidator(_at_least_two),
        Field(
            description="at least two; each entry is `{name of an assertion: its keys}`",
            json_schema_extra={"minItems": 2},
        ),
    ]
    _built: tuple[Assertion | None, ...] = PrivateAttr(default=())
    """The nested assertions; None for one that is not checked."""

    @property
    def asks_model(self) -> bool:
        """Whether one of the nested assertions asks a model."""
        return any(assertion.asks_model for assertion in self._built if assertion is not None)

    def resolve(self, build: Callable[[AssertionCall], Assertion]) -> Self:
        """Return a copy with its nested assertions built."""
        copy = self.model_copy()
        copy._built = tuple(map(build, self.assertions))
        return copy

    def without_model(self) -> Self | None:
        """Return a copy that checks only the nested assertions that need no model; None if all need one."""
        copy = self.model_copy()
        copy._built = tuple(None if nested is None else nested.without_model() for nested in self._built)
        return None if all(nested is None for nested in copy._built) else copy

    def check(self, evidence: Evidence) -> Check:
        """Evaluate the nested assertions that ask no model first; if none passes, evaluate the others."""
        if not self._built:
            raise RuntimeError("`any_of` was not built: call resolve() before check()")
        results: list[AssertionOutcome | None] = [None] * len(self._built)
        for asks_model in (False, True):
            if not any(result is not None and result.check.passed for result in results):
                for number, assertion in enumerate(self._built):
                    if assertion is not None and assertion.asks_model is asks_model:
                        results[number] = evaluate(assertion, evidence)
        return self._combine(results)

    def _combine(self, results: Sequence[AssertionOutcome | None]) -> Check:
        evaluated = [result for result in results if result is not None]
        rows = tuple(map(_build_summary_row, self._names, results))
        passed = [name for name, result in zip(self._names, results, strict=True) if result and result.check.passed]
        score = max(result.check.score for result in evaluated)
        pictures = tuple(picture for result in evaluated for picture in result.check.pictures)[:MAX_PICTURES]
        if passed:
            return Check(
                passed=True, score=score, detail=f"passed: {', '.join(passed)}", evidence=rows, pictures=pictures
            )
        errors = [result for result in evaluated if result.status == "error"]
        if errors:
            details = "; ".join(f"{row.path}: {row.actual}" for row in rows)
            message = f"none passed, and {len(errors)} of {len(rows)} could not be checked: {details}"
            raise Undecided(message, next((error.traceback for error in errors if error.traceback), ""))
        shown = (
            row
            for summary, result in zip(rows, results, strict=True)
            for row in (summary, *(() if result is None else _build_nested_rows(summary.path, result)))
        )
        return Check(False, score, f"none of {len(rows)} assertions passed", tuple(shown), pictures)

    @property
    def _names(self) -> list[str]:
        return [f"{number}. {call.name}" for number, call in enumerate(self.assertions, 1)]


def _build_summary_row(name: str, result: AssertionOutcome | None) -> FieldCheck:
    """Build the row that shows the result of one nested assertion."""
    if result is None:
        return FieldCheck(path=name, expected="passes", actual="not checked: another passed", passed=False)
    status = "error" if result.status == "error" else "passed" if result.check.passed else "failed"
    return FieldCheck(
        path=name, expected="passes", actual=f"{status}: {result.check.detail}", passed=result.check.passed
    )


def _build_nested_rows(name: str, result: AssertionOutcome) -> Iterator[FieldCheck]:
    """Yield the evidence of a nested assertion, with the assertion in each path."""
    for row in result.check.evidence[:MAX_NESTED_ROWS]:
        yield row.model_copy(update={"path": f"{name}: {row.path}"})
