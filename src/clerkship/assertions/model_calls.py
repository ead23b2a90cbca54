"""`model_usage`, `prompt_contains` and `prompt_never_contains`: the agent's own model calls.

They are the calls through the run's model proxy. Of an agent that makes none, `model_usage` reads the spans.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self, cast

import orjson
from pydantic import Field, model_validator

from clerkship.assertions.occurrence import AmountExpectation, CountExpectation
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import ModelCalled
from clerkship.model.errors import PlatformError
from clerkship.model.pattern import Regex, compile_pattern, has_match
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check, compare_given

UNSCOPED_CALLS = "the calls of a model are not divided by records"
_AROUND = 60
"""Characters of a prompt that are shown before and after what was found."""


class UsageUnknown(PlatformError):
    """Raised when the tokens, cost or durations of model calls are not known, so that they cannot be checked."""


class ModelUsage(Assertion):
    """The agent's model calls are as many, as large, as dear and as fast as expected. Failed calls are counted, without
    tokens and cost. If the agent called no model through the run, the calls that its traces tell count; without either,
    it has 0 of everything.
    """

    name: ClassVar[str] = "model_usage"
    unscoped_reason: ClassVar[str] = UNSCOPED_CALLS
    calls: Annotated[CountExpectation | None, Field(description="number of calls, such as {lte: 20}")] = None
    prompt_tokens: Annotated[CountExpectation | None, Field(description="tokens of all requests")] = None
    completion_tokens: Annotated[CountExpectation | None, Field(description="tokens of all responses")] = None
    cost: Annotated[AmountExpectation | None, Field(description="dollars of all calls")] = None
    slowest_ms: Annotated[
        AmountExpectation | None, Field(description="milliseconds of wall time of the slowest call")
    ] = None

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"expected one of {', '.join(type(self).model_fields)}")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Compare the sums. Raises UsageUnknown if one that is expected is not known."""
        calls = [_get_usage(evidence, event) for event in evidence.of_kind(ModelCalled.kind)]
        calls = calls or [_read_span(span) for span in evidence.spans.values() if span.get("is_call")]
        actual = {
            "calls": len(calls),
            **{name: self._total(calls, name) for name in ("prompt_tokens", "completion_tokens", "cost")},
            "slowest_ms": max((call.get("wall_ms") or 0.0 for call in calls), default=0.0),
        }
        if self.slowest_ms is not None and any("wall_ms" not in call for call in calls):
            raise UsageUnknown(
                "a replay takes no time, and does not store durations of model calls; run the task again"
            )
        rows = list(compare_given((name, getattr(self, name), value) for name, value in actual.items()))
        described = ", ".join(f"{row.path} {row.actual}" for row in rows)
        return Check.of(all(row.passed for row in rows), f"the agent's model calls: {described}", *rows)

    def _total(self, calls: list[Mapping[str, Any]], name: str) -> float:
        values: list[float | None] = [call.get(name) for call in calls]
        if getattr(self, name) is not None and None in values:
            hint = "set CLERKSHIP_PRICES" if name == "cost" else "run the task again"
            count = f"{values.count(None)} of {len(calls)} calls"
            raise UsageUnknown(f"the {name.replace('_', ' ')} of {count} is not known; {hint}")
        return sum(value for value in values if value is not None)


def _get_usage(evidence: Evidence, event: Event) -> Mapping[str, Any]:
    return evidence.model_calls.get(event.seq, {})


def _read_span(span: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the usage that a span tells. Its cost is not known."""
    prompt = span.get("input_tokens")
    completion = span.get("output_tokens", 0 if prompt is not None else None)  # embeddings have none
    return {**span, "prompt_tokens": prompt, "completion_tokens": completion}


class PromptUnknown(PlatformError):
    """Raised when a text is in no stored request, but some are stored in part."""


class PromptMatch(Assertion):
    """What to look for in the agent's requests to models: a text, or a pattern."""

    unscoped_reason: ClassVar[str] = UNSCOPED_CALLS
    shorthand: ClassVar[str | None] = "text"
    text: Annotated[str, Field(description="text, in upper or lower case")] = ""
    pattern: Annotated[Regex | None, Field(description="regular expression")] = None

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if bool(self.text) == (self.pattern is not None):
            raise ValueError("expected `text` or `pattern`")
        return self

    def find(self, evidence: Evidence) -> Iterator[tuple[Event, str]]:
        """Yield each call whose request matches, with the text around the match."""
        for event in evidence.of_kind(ModelCalled.kind):
            prompt = "\n".join(evidence.cached(_list_prompts)[event.seq])
            span = self._search(prompt)
            if span is not None:
                start, end = span
                yield event, prompt[max(0, start - _AROUND) : end + _AROUND]

    def count_without(self, evidence: Evidence) -> int:
        """Return how many requests there are, if none matches. Raises PromptUnknown if some are not complete."""
        calls = evidence.of_kind(ModelCalled.kind)
        cut = [event.seq for event in calls if cast(ModelCalled, event.payload).request_is_cut]
        if cut:
            places = ", ".join(f"#{seq}" for seq in cut[:10])
            reason = f"{len(cut)} of {len(calls)} requests to a model are too long to be stored as a whole ({places})"
            raise PromptUnknown(f"{reason}, so it is not known whether they contain {self.described}")
        return len(calls)

    def _search(self, prompt: str) -> tuple[int, int] | None:
        if self.pattern is not None:
            match = compile_pattern(self.pattern).search(prompt) if has_match(self.pattern, prompt) else None
            return match.span() if match is not None else None
        start = prompt.lower().find(self.text.lower())
        return (start, start + len(self.text)) if start >= 0 else None

    @property
    def described(self) -> str:
        """What is looked for."""
        return f"“{self.text}”" if self.text else f"/{self.pattern}/"


class PromptContains(PromptMatch):
    """A request of the agent to a model contains a text, such as a rule that the model must be given."""

    name: ClassVar[str] = "prompt_contains"

    def check(self, evidence: Evidence) -> Check:
        """Look for the text; show the first request that has it."""
        found = next(self.find(evidence), None)
        if found is None:
            count = self.count_without(evidence)
            row = FieldCheck(path="prompt", expected=self.described, actual="(none)", passed=False)
            return Check.of(False, f"none of {count} requests to a model contains {self.described}", row)
        event, around = found
        row = FieldCheck(path="prompt", expected=self.described, actual=around, passed=True, seq=event.seq)
        return Check.of(True, f"the request #{event.seq} contains {self.described}", row)


class PromptNeverContains(PromptMatch):
    """No request of the agent to a model contains a text: a secret, or what belongs to another patient. Credentials of
    sandboxes are written as in the log, such as `[token of drop]`.
    """

    name: ClassVar[str] = "prompt_never_contains"

    def check(self, evidence: Evidence) -> Check:
        """Look for the text; show each request that has it."""
        rows = [
            FieldCheck(path="prompt", expected=f"without {self.described}", actual=around, passed=False, seq=event.seq)
            for event, around in self.find(evidence)
        ]
        if rows:
            places = ", ".join(f"#{row.seq}" for row in rows[:10])
            return Check.of(False, f"{len(rows)} requests to a model contain {self.described} ({places})", *rows)
        count = self.count_without(evidence)
        if not count:
            return Check.of(True, "the agent called no model through the run")
        return Check.of(True, f"none of {count} requests to a model contains {self.described}")


def _list_prompts(evidence: Evidence) -> dict[int, list[str]]:
    """Return the texts in each request to a model, as the model gets them, by the number of its event."""
    calls = [(event.seq, cast(ModelCalled, event.payload).request) for event in evidence.of_kind(ModelCalled.kind)]
    return {seq: list(_list_texts(_parse_request(request))) for seq, request in calls}


def _parse_request(request: str) -> Any:
    """Return a request as data: a body, the parts of one on a line each, or text where a body was cut."""
    try:
        return orjson.loads(request)
    except orjson.JSONDecodeError:
        lines = request.split("\n")
    try:
        return [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError:
        return request


def _list_texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from _list_texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _list_texts(value)
