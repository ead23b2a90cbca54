"""`message_sent`: the agent sent the expected message, or sent none."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import compare_count, prefix_paths, share_passed
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, field_check, select
from clerkship.model.closed import OneOf
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.messages.assertions.logged import LoggedMessage, list_messages, list_refused, read_content
from clerkship.simulators.messages.assertions.message_match import MessageMatch, describe_conditions, matches_address
from clerkship.simulators.messages.events import MessageRefused, MessageSent
from clerkship.simulators.messages.names import ADDRESS, OWN_ADDRESS
from clerkship.simulators.messages.records import DeliveryStatus

MAX_ROWS = 100
"""Rows of evidence about messages that do not match."""
_CONDITIONS = ("channel", "to", "sender", "subject", "text", "attachments", "thread", "in_reply_to", "status")


class MessageWasSent(Assertion, MessageMatch):
    """The agent sent a message like this; or the number of such messages is as expected. Messages that lie in the past,
    automatic replies and refused messages do not count. `to` needs one recipient like this and allows others; `only_to`
    allows no others. `input_entity_id` selects messages to that person, or that mention the record.
    """

    name: ClassVar[str] = "message_sent"
    simulator: ClassVar[str | None] = "messages"
    scoped: ClassVar[bool] = True
    to: Annotated[
        Expected | None,
        ADDRESS,
        Field(
            description="one of its recipients (also cc and bcc), which may be several: an address such as Patient/p1, "
            "a list of which one, or a matcher"
        ),
    ] = None
    only_to: Annotated[
        Expected | None, ADDRESS, Field(description="all of its recipients: every one must be this one, or match")
    ] = None
    sender: Annotated[
        Expected | None, OWN_ADDRESS, Field(alias="from", description="own number or address that it was sent from")
    ] = None
    status: Annotated[
        Expected | None,
        OneOf(*get_args(DeliveryStatus)),
        Field(description="final status, such as delivered or {not: undelivered}"),
    ] = None
    count: Annotated[CountExpectation | None, Field(description="expected number of such messages")] = None
    none: Annotated[Flag, Field(description="whether there must be no such message")] = False
    before: Annotated[EventMatch | None, Field(description="only before the first event like this")] = None
    after: Annotated[EventMatch | None, Field(description="only after the first event like this; it must happen")] = (
        None
    )
    refused: Annotated[Flag, Field(description="count messages that were refused, instead of those that were sent")] = (
        False
    )
    code: Annotated[Expected | None, Field(description="with `refused`: the code of the refusal, such as '21610'")] = (
        None
    )
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        if self.code is not None and not self.refused:
            raise ValueError("`code` is that of a refusal: add `refused: true`")
        unusable = [key for key in ("subject", "attachments", "thread", "in_reply_to", "status") if getattr(self, key)]
        if self.refused and unusable:
            raise ValueError(f"a refused message has no `{unusable[0]}`: remove it or `refused`")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Compare every message; the best one decides."""
        compared = [(name, rows) for name, rows in self._compare_all(evidence)]
        if self.none or self.count is not None:
            return self._check_count(compared)
        if not compared:
            row = FieldCheck(path="messages", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"the agent sent no message{self._describe()}", row)
        best, rows = max(compared, key=lambda pair: share_passed(pair[1]))
        failed = [row.path for row in rows if not row.passed]
        if not failed:
            return Check.of_fields(rows, f"sent: {best}")
        nearest = f"the nearest of {len(compared)} is {best}" if len(compared) > 1 else f"it sent {best}"
        shown = [check for name, other in compared if name != best for check in prefix_paths(name, other)]
        result = Check.of_fields(rows, f"no message{self._describe()}; {nearest}, but not: {', '.join(failed)}")
        return result._replace(evidence=(*result.evidence, *shown[:MAX_ROWS]))

    def _compare_all(self, evidence: Evidence) -> Iterator[tuple[str, tuple[FieldCheck, ...]]]:
        """Yield each message in words, with its rows."""
        limits = [self._find_limit(evidence, match) for match in (self.before, self.after)]
        forbids = self.passes_on_inaction
        if self.refused:
            refusals = narrow(evidence, list_refused(evidence, self.sandbox), _read_refused, forbids=forbids)
            for event in refusals:
                assert isinstance(event.payload, MessageRefused)
                name = f"refused {event.payload.channel} to {', '.join(event.payload.to)} (#{event.seq})"
                yield name, tuple(self._compare_refused(event, event.payload, limits))
            return
        sent = (message for message in list_messages(evidence, self.sandbox) if message.is_sent)
        for message in narrow(evidence, sent, read_content, forbids=forbids):
            yield f"{message.describe()} (#{message.event.seq})", tuple(self._compare(message, limits))

    def _find_limit(self, evidence: Evidence, match: EventMatch | None) -> Event | None:
        return next(select(evidence.events, match), None) if match is not None else None

    def _compare(self, message: LoggedMessage, limits: Sequence[Event | None]) -> Iterator[FieldCheck]:
        header, seq = message.header, message.event.seq
        yield from self._compare_addresses(header.recipients, header.sender, seq)
        yield from self.compare_properties(message)
        if self.status is not None:
            passed = matches_expected(self.status, message.status)
            yield field_check("status", self.status, message.status, passed=passed, seq=seq)
        yield from self._compare_time(message.event, limits)
        yield FieldCheck(path="message", expected=MessageSent.kind, actual=MessageSent.kind, passed=True, seq=seq)

    def _compare_refused(
        self, event: Event, refused: MessageRefused, limits: Sequence[Event | None]
    ) -> Iterator[FieldCheck]:
        yield from self._compare_addresses(refused.to, refused.sender, event.seq)
        for path, expected, actual in (
            ("channel", self.channel, refused.channel),
            ("code", self.code, refused.code),
            *(("text", each, refused.text) for each in (self.text if isinstance(self.text, list) else [self.text])),
        ):
            if expected is not None:
                yield field_check(path, expected, actual, passed=matches_expected(expected, actual), seq=event.seq)
        yield from self._compare_time(event, limits)
        yield FieldCheck(path="refused", expected=True, actual=refused.reason, passed=True, seq=event.seq)

    def _compare_addresses(self, recipients: Sequence[str], sender: str, seq: int) -> Iterator[FieldCheck]:
        if self.to is not None:
            passed = matches_address(self.to, recipients)
            yield field_check("to", self.to, list(recipients), passed=passed, seq=seq)
        if self.only_to is not None:
            passed = bool(recipients) and all(matches_address(self.only_to, [each]) for each in recipients)
            yield field_check("only_to", self.only_to, list(recipients), passed=passed, seq=seq)
        if self.sender is not None:
            yield field_check("from", self.sender, sender, passed=matches_address(self.sender, [sender]), seq=seq)

    def _compare_time(self, event: Event, limits: Sequence[Event | None]) -> Iterator[FieldCheck]:
        before, after = limits
        if self.before is not None:
            passed = before is None or event.seq < before.seq
            actual = "(never happened)" if before is None else f"#{before.seq}"
            expected = f"before {describe_match(self.before)}"
            yield FieldCheck(path="before", expected=expected, actual=actual, passed=passed, seq=event.seq)
        if self.after is not None:
            passed = after is not None and event.seq > after.seq
            actual = "(never happened)" if after is None else f"#{after.seq}"
            expected = f"after {describe_match(self.after)}"
            yield FieldCheck(path="after", expected=expected, actual=actual, passed=passed, seq=event.seq)

    def _check_count(self, compared: Sequence[tuple[str, tuple[FieldCheck, ...]]]) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [(name, rows) for name, rows in compared if all(row.passed for row in rows)]
        row = compare_count(expected, len(matching), matching[0][1][-1].seq if matching else None)
        listed = occurrence.join_first([name for name, _ in matching]) or "none"
        detail = f"messages{self._describe()}: {listed} (expected {describe_expected(expected)})"
        if row.passed or self.none:
            return Check.of(row.passed, detail, row)
        others = [
            check for name, rows in compared if (name, rows) not in matching for check in prefix_paths(name, rows)
        ]
        return Check.of(False, detail, row, *others[:MAX_ROWS])

    def _describe(self) -> str:
        conditions = describe_conditions(self, (*_CONDITIONS, "only_to", "code"))
        return (" that was refused" if self.refused else "") + (f" with {conditions}" if conditions else "")


def _read_refused(event: Event) -> ItemContent:
    refused = event.payload
    return ItemContent([refused.text], refused.to) if isinstance(refused, MessageRefused) else ItemContent()
