"""`tool_executed`, `action_executed` and `action_not_executed`, and the calls of tools that criteria compare."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field, model_validator

from clerkship.assertions.occurrence import (
    EQUALITY_DIFFERENCE,
    MATCHER_DIFFERENCE,
    HappenedAssertion,
    Name,
    NeverHappenedAssertion,
    build_expected_fields,
    has_arguments,
    matches_payload,
)
from clerkship.events import agent
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag, Frozen
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Difference, Engine

E = TypeVar("E")
C = TypeVar("C")
Arguments = Annotated[
    dict[str, Expected], Field(description="some of its arguments; each a literal, or a matcher (ours)")
]


class ToolMatch(Frozen):
    """Selects calls of a tool."""

    tool_name: Annotated[Name, Field(description="the tool")]
    source: Annotated[
        Literal["local", "mcp"] | None, Field(description="where the tool runs; anywhere if not given")
    ] = None
    mcp_server: Annotated[
        Name | None, Field(description="the server of an `mcp` tool; required with `source: mcp`")
    ] = None
    skill_id: Annotated[Name | None, Field(description="the skill that called it; any if not given")] = None
    arguments: Arguments = {}
    is_error: Annotated[Flag | None, Field(description="whether the call ended in an error; either if not given")] = (
        None
    )

    @model_validator(mode="after")
    def _check_server(self) -> "ToolMatch":
        if (self.source == "mcp") != (self.mcp_server is not None):
            raise ValueError("`source: mcp` and `mcp_server` must be given together")
        return self

    @cached_property
    def expected_fields(self) -> dict[str, Any]:
        """The fields that an event must have."""
        return build_expected_fields(self, ToolExecuted)

    def matches_event(self, event: Event, *, rasa: bool) -> bool:
        """Return whether an event is such a call."""
        return matches_payload(self.expected_fields, event.payload, rasa=rasa)


def render_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as Python code."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


class ToolCall(Frozen):
    """A tool, and some of its arguments."""

    tool_name: Annotated[Name, Field(description="the tool")]
    arguments: Arguments = {}

    @property
    def description(self) -> str:
        return render_call(self.tool_name, self.arguments)


class ReportedCall(NamedTuple):
    """A call that the agent reported, as a tool or as an action."""

    event: Event
    name: str
    arguments: dict[str, Any]

    def matches(self, call: ToolCall, *, rasa: bool) -> bool:
        """Return whether it is the expected call."""
        return self.name == call.tool_name and has_arguments(self.arguments, call.arguments, rasa=rasa)


def find_calls(evidence: Evidence, expected: Sequence[ToolCall]) -> list[ReportedCall]:
    """Return all calls that ended without an error.

    An action without arguments may be internal to the engine, so it counts only if a call of that name is expected.
    """
    names = {call.tool_name for call in expected}
    calls: list[ReportedCall] = []
    for event in evidence.of_kind(ToolExecuted.kind, ActionExecuted.kind):
        match event.payload:
            case ToolExecuted(tool_name=name, arguments=arguments, is_error=False):
                calls.append(ReportedCall(event, name, arguments))
            case ActionExecuted(name=name, arguments=arguments) if arguments or name in names:
                calls.append(ReportedCall(event, name, arguments))
    return calls


def group_by_turn(evidence: Evidence, calls: Sequence[ReportedCall]) -> dict[int, list[ReportedCall]]:
    """Group calls by the turn in which they were made."""
    turns: dict[int, list[ReportedCall]] = {}
    for call in calls:
        turns.setdefault(evidence.turn_of(call.event), []).append(call)
    return turns


CallPairs = dict[int, int]
"""The index of each expected call -> the index of its call."""


class ToolTurn(NamedTuple):
    """The calls of one turn, paired with the expected calls."""

    number: int
    calls: Sequence[ReportedCall]
    pairs: CallPairs

    def missing(self, expected: Sequence[str]) -> list[str]:
        """Return the expected calls that were not made."""
        return [words for number, words in enumerate(expected) if number not in self.pairs]

    def extra(self) -> list[str]:
        """Return the calls that were not expected."""
        used = set(self.pairs.values())
        return [f"{call.name} (#{call.event.seq})" for place, call in enumerate(self.calls) if place not in used]

    def rows(self, expected: Sequence[str]) -> list[FieldCheck]:
        """Return a row for each expected call, with the call that was made."""
        hits = [self.calls[self.pairs[number]] if number in self.pairs else None for number in range(len(expected))]
        return [
            FieldCheck(
                path=f"call {number}",
                expected=words,
                actual="(not called)" if hit is None else f"#{hit.event.seq} {hit.name}",
                passed=hit is not None,
                seq=None if hit is None else hit.event.seq,
            )
            for number, (words, hit) in enumerate(zip(expected, hits, strict=True), 1)
        ]


def pair_calls(expected: Sequence[E], calls: Sequence[C], fits: Callable[[E, C], bool], *, ordered: bool) -> CallPairs:
    """Pair as many expected calls as possible, each with a call of its own; in order if `ordered`."""
    return _pair_in_order(expected, calls, fits) if ordered else _pair_in_any_order(expected, calls, fits)


def pair_greedily(
    expected: Sequence[E], calls: Sequence[C], fits: Callable[[E, C], bool], *, ordered: bool
) -> CallPairs:
    """Pair each expected call with the first free call, even if a later one then has none."""
    pairs: CallPairs = {}
    free = list(range(len(calls)))
    for number, item in enumerate(expected):
        place = next((place for place in free if fits(item, calls[place])), None)
        if place is None:
            continue
        pairs[number] = place
        free = [other for other in free if other > place or (not ordered and other != place)]
    return pairs


def _pair_in_any_order(expected: Sequence[E], calls: Sequence[C], fits: Callable[[E, C], bool]) -> CallPairs:
    """Return a maximum matching: a call that is already paired is released if its expected call fits another one."""
    candidates = [[place for place, call in enumerate(calls) if fits(item, call)] for item in expected]
    taken: dict[int, int] = {}

    def settle(number: int, visited: set[int]) -> bool:
        for place in candidates[number]:
            if place in visited:
                continue
            visited.add(place)
            if place not in taken or settle(taken[place], visited):
                taken[place] = number
                return True
        return False

    for number in range(len(expected)):
        settle(number, set())
    return {number: place for place, number in taken.items()}


def _pair_in_order(expected: Sequence[E], calls: Sequence[C], fits: Callable[[E, C], bool]) -> CallPairs:
    """Return the longest common subsequence."""
    rows = [[0] * (len(calls) + 1)]
    for item in expected:
        above, row = rows[-1], [0]
        for place, call in enumerate(calls):
            row.append(max(above[place + 1], row[place], above[place] + fits(item, call)))
        rows.append(row)
    pairs: CallPairs = {}
    number, place = len(expected), len(calls)
    while number and place:
        if rows[number][place] == rows[number - 1][place]:
            number -= 1
        elif rows[number][place] == rows[number][place - 1]:
            place -= 1
        else:
            number, place = number - 1, place - 1
            pairs[number] = place
    return pairs


class ToolExecutedAssertion(ToolMatch, HappenedAssertion):
    """The tool was called like this, with any result unless `is_error` is given."""

    name: ClassVar[str] = "tool_executed"
    shorthand: ClassVar[str | None] = "tool_name"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)
    event: ClassVar[type[Payload]] = ToolExecuted
    about: ClassVar[str] = "tool_name"
    uses_python_equality: ClassVar[bool] = True


class ActionMatch(Frozen):
    """Selects executions of an action."""

    event: ClassVar[type[Payload]] = agent.ActionExecuted
    about: ClassVar[str] = "name"
    shorthand: ClassVar[str | None] = "name"
    action: Annotated[Name, Field(alias="name", description="the action")]
    arguments: Annotated[
        dict[str, Expected], Field(description="some of its arguments, each a literal or a matcher (ours)")
    ] = {}

    @cached_property
    def expected_fields(self) -> dict[str, Any]:
        """The fields that an event must have."""
        return {"name": self.action} | ({"arguments": self.arguments} if self.arguments else {})


class ActionExecutedAssertion(ActionMatch, HappenedAssertion):
    """The action ran. Responses, listening and actions of patterns count too, if the agent reports them."""

    name: ClassVar[str] = "action_executed"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)


class ActionNotExecuted(ActionMatch, NeverHappenedAssertion):
    """The action never ran, or never with these arguments (ours)."""

    name: ClassVar[str] = "action_not_executed"
