"""Calls of FHIRPath functions, which evaluate their arguments themselves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.formats.fhir.evaluation.collection import Collection, EvaluationError, get_single, is_number

Tree = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EvaluationScope:
    """The values of `$this`, `$index` and `$total`."""

    this: Collection
    index: int | None = None
    total: Collection | None = None


EvaluateTree = Callable[[Tree, Collection, EvaluationScope], Collection]


@dataclass(frozen=True, slots=True)
class FunctionArgument:
    """An expression as an argument of a function."""

    tree: Tree
    scope: EvaluationScope
    run: EvaluateTree

    def evaluate(self) -> Collection:
        """Evaluate the argument in the scope of the call."""
        return self.run(self.tree, self.scope.this, self.scope)

    def evaluate_on(self, items: Collection, index: int | None = None, total: Collection | None = None) -> Collection:
        """Evaluate it with other items as `$this`."""
        scope = EvaluationScope(
            items, self.scope.index if index is None else index, self.scope.total if total is None else total
        )
        return self.run(self.tree, items, scope)

    @property
    def type_name(self) -> str:
        return str(self.tree.get("text", "")).replace("`", "")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One call of a function."""

    name: str
    input: Collection
    arguments: Sequence[FunctionArgument] = field(default=())
    now: datetime | None = None

    @property
    def label(self) -> str:
        """The name of the function for error messages."""
        return f"`{self.name}()`"

    def value(self) -> Any:
        """Return the single value that the function is called on; None if there is none."""
        return get_single(self.input, self.label)

    def argument(self, place: int) -> Any:
        """Return the single value of an argument; None if it is empty or missing."""
        if place >= len(self.arguments):
            return None
        return get_single(self.arguments[place].evaluate(), f"an argument of {self.label}")

    def text(self, place: int) -> str | None:
        """Return an argument that must be text."""
        value = self.argument(place)
        if value is not None and not isinstance(value, str):
            raise EvaluationError(f"{self.label} expects text, not `{value}`")
        return value

    def integer(self, place: int) -> int | None:
        """Return an argument that must be an integer."""
        value = self.argument(place)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise EvaluationError(f"{self.label} expects an integer, not `{value}`")
        return value

    def number(self, place: int) -> Any:
        """Return an argument that must be a number."""
        value = self.argument(place)
        if value is not None and not is_number(value):
            raise EvaluationError(f"{self.label} expects a number, not `{value}`")
        return value


class FhirPathFunction(NamedTuple):
    """A function, and the numbers of arguments it accepts."""

    evaluate: Callable[[FunctionCall], Any]
    """Returns a collection, one item, or None for nothing."""
    arity: tuple[int, ...] = (0,)


def to_collection(result: Any) -> Collection:
    """Return the result of a function as a collection."""
    return result if isinstance(result, list) else [] if result is None else [result]
