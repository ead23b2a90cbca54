"""`voice_call`: a call was made or taken as expected, or there was none."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import Field, model_validator

from clerkship.assertions.address_match import matches_address
from clerkship.assertions.occurrence import CountExpectation
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.closed import OneOf
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Whole
from clerkship.model.matcher import is_matcher, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Check, compare_given, compare_value
from clerkship.simulators.voice.assertions.call_match import CallMatch
from clerkship.simulators.voice.metrics import CallMetrics, measure_call
from clerkship.simulators.voice.names import TRANSFER_TARGET
from clerkship.simulators.voice.records import CallOutcome, CallParty, PhoneCall

_PROPERTIES = (
    "outcome",
    "ended_by",
    "min_duration",
    "max_duration",
    "min_hold",
    "max_hold",
    "transfers",
    "transferred_to",
    "max_reprompts",
    "max_response_time",
)


class VoiceCallHappened(SelectionAssertion, CallMatch):
    """There was a call like this; with `each`, every call with the number and direction was like this, and there was at
    least one; with `count`, as many calls as expected were like this. A call that rang and was not answered is a call,
    one that was refused at once is not. `input_entity_id` selects calls with that person, or in which the record is
    identified.
    """

    name: ClassVar[str] = "voice_call"
    simulator: ClassVar[str | None] = "voice"
    scoped: ClassVar[bool] = True
    outcome: Annotated[
        Expected | None,
        OneOf(*get_args(CallOutcome)),
        Field(
            description="how it ended: completed, busy, no_answer, rejected, failed, dropped or abandoned; or a "
            "matcher. A call that is still open has none"
        ),
    ] = None
    ended_by: Annotated[
        Expected | None,
        OneOf(*get_args(CallParty)),
        Field(description="who ended it: agent, line, representative, person or system"),
    ] = None
    min_duration: Annotated[Duration | None, Field(description="shortest time from the answer to the end")] = None
    max_duration: Annotated[Duration | None, Field(description="longest time from the answer to the end")] = None
    min_hold: Annotated[Duration | None, Field(description="shortest time on hold, in all")] = None
    max_hold: Annotated[Duration | None, Field(description="longest time on hold, in all")] = None
    transfers: Annotated[CountExpectation | None, Field(description="how often it was transferred")] = None
    transferred_to: Annotated[
        Expected | None,
        TRANSFER_TARGET,
        Field(description="one of its transfers: a number, the name of a representative, or a matcher"),
    ] = None
    max_reprompts: Annotated[
        Whole | None, Field(ge=0, description="how often the line may reject an entry, or hear none")
    ] = None
    max_response_time: Annotated[
        Duration | None, Field(description="longest time from the end of the other side's words to the agent's")
    ] = None
    each: Annotated[Flag, Field(description="whether every such call must be like this, not only one")] = False

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.each and self.is_counted:
            raise ValueError("`each` does not go with `count` or `none`")
        if self.each and all(getattr(self, name) is None for name in _PROPERTIES):
            raise ValueError(f"`each` needs a property that every call must have, such as `{_PROPERTIES[0]}`")
        for shortest, longest in (("min_duration", "max_duration"), ("min_hold", "max_hold")):
            least, most = getattr(self, shortest), getattr(self, longest)
            if least is not None and most is not None and least > most:
                raise ValueError(f"`{shortest}` is longer than `{longest}`: no call can have both")
        return self

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each call with the number and direction."""
        for call in self.list_selected(evidence, forbids=self.passes_on_inaction):
            yield Compared(call.describe(), tuple(self._compare(call)))

    def describe_selection(self, evidence: Evidence) -> str:
        return f"call{self.describe_calls()}"

    def check_best(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Report the best call, or with `each` all of them; the score is then the share of calls as expected."""
        if not self.each:
            return super().check_best(compared, evidence)
        share = sum(call.passed for call in compared) / len(compared)
        return self.check_every(compared, evidence)._replace(score=share)

    def _compare(self, call: PhoneCall) -> Iterator[FieldCheck]:
        metrics = measure_call(call)
        values: list[tuple[str, Any, Any]] = [
            ("outcome", self.outcome, MISSING if call.outcome is None else call.outcome),
            ("ended_by", self.ended_by, MISSING if call.ended_by is None else call.ended_by),
        ]
        yield from compare_given(values, call.seq)
        yield from self._compare_times(call, metrics)
        yield from compare_given([("transfers", self.transfers, len(call.transfers))], call.seq)
        if self.transferred_to is not None:
            passed = any(_is_far_end(self.transferred_to, far_end) for far_end in call.transfers)
            yield field_check("transferred_to", self.transferred_to, call.transfers, passed=passed, seq=call.seq)
        if self.max_reprompts is not None:
            yield compare_value("reprompts", {"lte": self.max_reprompts}, metrics.reprompts, call.seq)
        yield FieldCheck(path="call", expected={"exists": True}, actual=call.describe(), passed=True, seq=call.seq)

    def _compare_times(self, call: PhoneCall, metrics: CallMetrics) -> Iterator[FieldCheck]:
        limits: list[tuple[str, str, timedelta | None, float | None]] = [
            ("duration in seconds", "gte", self.min_duration, metrics.length),
            ("duration in seconds", "lte", self.max_duration, metrics.length),
            ("hold in seconds", "gte", self.min_hold, metrics.on_hold),
            ("hold in seconds", "lte", self.max_hold, metrics.on_hold),
            ("response time in seconds", "lte", self.max_response_time, metrics.max_response_time),
        ]
        for path, matcher, limit, actual in limits:
            if limit is not None:
                expected = {matcher: limit.total_seconds()}
                # An agent that never responded has no response time, and is not fast.
                passed = actual is not None and matches_expected(expected, actual)
                yield FieldCheck(path=path, expected=expected, actual=actual, passed=passed, seq=call.seq)


def _is_far_end(expected: Any, far_end: str) -> bool:
    number, _, representative = far_end.partition("/")
    if isinstance(expected, list):
        return any(_is_far_end(each, far_end) for each in expected)
    if is_matcher(expected):
        return matches_expected(expected, representative or number)
    return expected in (far_end, representative) or matches_address(expected, [number])
