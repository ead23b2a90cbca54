"""Variants of a task's reference solution: wrong solutions that must fail, and other ways that must pass.

They are written beside the task, and `clerkship suite attack` runs them. They are not part of what is frozen for a run.
See docs/decisions/0029-variants.md.
"""

import re
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, Field, JsonValue, PrivateAttr, model_validator

from clerkship.model.frozen import Frozen, Whole
from clerkship.model.path import split_path
from clerkship.model.pattern import Regex
from clerkship.model.scenario import Expected

T = TypeVar("T")
WAIT = "wait"
"""The extra call that lets simulated time pass, which is of no sandbox."""
FUNCTION_MARK = "::"
"""Between a Python file and the name of a function in it."""
_METHOD = re.compile(r"[^.]+\.[a-z][a-z0-9_]*")


def _check_method(name: str) -> str:
    if not _METHOD.fullmatch(name):
        raise ValueError(f"`{name}` is not a sandbox and a method, such as `ehr.create`")
    return name


def _check_extra_call(call: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if len(call) != 1:
        raise ValueError("a call is a map with one key, such as `ehr.delete: [Observation, obs-1]`")
    (name,) = call
    if name != WAIT:
        _check_method(name)
    return call


def _check_paths(values: dict[str, T]) -> dict[str, T]:
    if not all(map(split_path, values)):
        raise ValueError("a path is empty")
    return values


def _check_texts(values: dict[str, str]) -> dict[str, str]:
    if "" in values:
        raise ValueError("a text to replace is empty")
    return values


MethodName = Annotated[str, AfterValidator(_check_method)]
ExtraCall = Annotated[dict[str, JsonValue], AfterValidator(_check_extra_call)]
"""A method with its arguments: a map by name, a list in order, or the only one; or `wait` with a duration."""
_EFFECTS = (
    *("set", "replace", "substitute", "append", "times"),
    *("returns", "set_result", "replace_result", "before", "after"),
)


class CallChange(Frozen):
    """A change of the calls that a solution makes to one method of a sandbox."""

    call: Annotated[
        MethodName,
        Field(description="sandbox and method, such as ehr.create; in a conversation also reply.say, reply.slot_set"),
    ]
    where: Annotated[
        dict[str, Expected],
        Field(description="only calls with these arguments: literals or matchers by dotted path"),
    ] = {}
    occurrence: Annotated[Whole | None, Field(ge=1, description="only the first, second, … of these calls")] = None
    set: Annotated[
        dict[str, JsonValue],
        AfterValidator(_check_paths),
        Field(description="new values of arguments by dotted path; null removes one"),
    ] = {}
    replace: Annotated[
        dict[str, str],
        AfterValidator(_check_texts),
        Field(description="texts to replace in all arguments, each with the new text"),
    ] = {}
    substitute: Annotated[
        dict[Regex, str],
        Field(description="patterns to replace in all arguments, each with the new text; \\1 is its first group"),
    ] = {}
    append: Annotated[
        dict[str, str],
        AfterValidator(_check_paths),
        Field(description="texts to add to the end of arguments, by dotted path"),
    ] = {}
    times: Annotated[Whole, Field(ge=0, le=1000, description="how often the call is made; 0: not at all")] = 1
    returns: Annotated[
        JsonValue, Field(description="what the solution gets instead; an object replaces only its own keys")
    ] = None
    set_result: Annotated[
        dict[str, JsonValue],
        AfterValidator(_check_paths),
        Field(description="new values in what the solution gets, by dotted path, * for any item; null removes one"),
    ] = {}
    replace_result: Annotated[
        dict[str, str],
        AfterValidator(_check_texts),
        Field(description="texts to replace in what the solution gets, each with the new text"),
    ] = {}
    before: Annotated[tuple[ExtraCall, ...], Field(description="further calls before it, such as wait: 20m")] = ()
    after: Annotated[tuple[ExtraCall, ...], Field(description="further calls after it")] = ()

    @model_validator(mode="after")
    def _check_effect(self) -> Self:
        if self.model_fields_set.isdisjoint(_EFFECTS):
            raise ValueError(f"it changes nothing: add one of {', '.join(_EFFECTS)}")
        return self


class Variant(Frozen):
    """The reference solution with changes, or another solution."""

    name: Annotated[str, Field(min_length=1, max_length=200, description="what it does, unique in its list")]
    changes: Annotated[tuple[CallChange, ...], Field(description="changes of the solution's calls")] = ()
    before: Annotated[tuple[ExtraCall, ...], Field(description="calls before the solution starts")] = ()
    after: Annotated[tuple[ExtraCall, ...], Field(description="calls after the solution, such as ehr.delete")] = ()
    answer: Annotated[
        JsonValue, Field(description="another answer; an object replaces only its own keys of the solution's answer")
    ] = None
    solution: Annotated[
        str | None,
        Field(description="Python file, or FILE::FUNCTION, in place of the reference solution; relative to this file"),
    ] = None
    _source: str = PrivateAttr("")

    @property
    def source(self) -> str:
        """The content of its Python file, read when the task is loaded."""
        return self._source

    def with_source(self, source: str) -> Self:
        """Return a copy with the content of its Python file."""
        copy = self.model_copy()
        copy._source = source
        return copy

    @property
    def changes_answer(self) -> bool:
        """Whether the answer is another one; it may be null."""
        return "answer" in self.model_fields_set

    @property
    def function(self) -> str:
        """The name of the function in its Python file; empty if the file is an agent as a whole."""
        return (self.solution or "").partition(FUNCTION_MARK)[2]

    @model_validator(mode="after")
    def _check_difference(self) -> Self:
        if not (self.changes or self.before or self.after or self.solution or self.changes_answer):
            raise ValueError("it does what the solution does: add `changes`, `before`, `after`, `answer` or `solution`")
        return self


class WrongSolution(Variant):
    """A variant that must fail on one criterion."""

    fails: Annotated[
        str,
        Field(
            min_length=1,
            description="the criterion that must fail: its label, its assertion if only one has it, or a monitor",
        ),
    ]
