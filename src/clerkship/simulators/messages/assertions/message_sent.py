"""`message_sent`: the agent sent the expected message, or sent none."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Self, get_args

from pydantic import Field, model_validator

from clerkship.assertions.address_match import matches_address
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.selection import Compared, EventWindow, SelectionAssertion
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.closed import OneOf
from clerkship.model.frozen import Flag
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import compare_given
from clerkship.simulators.messages.assertions.logged import LoggedMessage, list_messages, list_refused, read_content
from clerkship.simulators.messages.assertions.message_match import MessageMatch, describe_conditions
from clerkship.simulators.messages.events import MessageRefused, MessageSent
from clerkship.simulators.messages.names import ADDRESS, OWN_ADDRESS
from clerkship.simulators.messages.records import DeliveryStatus

_CONDITIONS = ("channel", "to", "sender", "subject", "text", "attachments", "thread", "in_reply_to", "status")
_Limits = tuple[Event | None, Event | None]


class MessageWasSent(SelectionAssertion, MessageMatch, EventWindow):
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
    refused: Annotated[Flag, Field(description="count messages that were refused, instead of those that were sent")] = (
        False
    )
    code: Annotated[Expected | None, Field(description="with `refused`: the code of the refusal, such as '21610'")] = (
        None
    )
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.code is not None and not self.refused:
            raise ValueError("`code` is that of a refusal: add `refused: true`")
        unusable = [key for key in ("subject", "attachments", "thread", "in_reply_to", "status") if getattr(self, key)]
        if self.refused and unusable:
            raise ValueError(f"a refused message has no `{unusable[0]}`: remove it or `refused`")
        return self

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each message that the agent sent, or each that was refused."""
        limits, forbids = self.find_limits(evidence), self.passes_on_inaction
        if self.refused:
            for event in narrow(evidence, list_refused(evidence, self.sandbox), _read_refused, forbids=forbids):
                assert isinstance(event.payload, MessageRefused)
                name = f"refused {event.payload.channel} to {', '.join(event.payload.to)} (#{event.seq})"
                yield Compared(name, tuple(self._compare_refused(event, event.payload, limits)))
            return
        sent = (message for message in list_messages(evidence, self.sandbox) if message.is_sent)
        for message in narrow(evidence, sent, read_content, forbids=forbids):
            yield Compared(f"{message.describe()} (#{message.event.seq})", tuple(self._compare(message, limits)))

    def describe_selection(self, evidence: Evidence) -> str:
        conditions = describe_conditions(self, (*_CONDITIONS, "only_to", "code"))
        return f"{'refused' if self.refused else 'sent'} message" + (f" with {conditions}" if conditions else "")

    def _compare(self, message: LoggedMessage, limits: _Limits) -> Iterator[FieldCheck]:
        header, seq = message.header, message.event.seq
        yield from self._compare_addresses(header.recipients, header.sender, seq)
        yield from self.compare_properties(message)
        yield from compare_given([("status", self.status, message.status)], seq)
        yield from self.compare_time(message.event, limits)
        yield FieldCheck(path="message", expected=MessageSent.kind, actual=MessageSent.kind, passed=True, seq=seq)

    def _compare_refused(self, event: Event, refused: MessageRefused, limits: _Limits) -> Iterator[FieldCheck]:
        yield from self._compare_addresses(refused.to, refused.sender, event.seq)
        texts = self.text if isinstance(self.text, list) else [self.text]
        values = [("channel", self.channel, refused.channel), ("code", self.code, refused.code)]
        yield from compare_given([*values, *(("text", each, refused.text) for each in texts)], event.seq)
        yield from self.compare_time(event, limits)
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


def _read_refused(event: Event) -> ItemContent:
    refused = event.payload
    return ItemContent([refused.text], refused.to) if isinstance(refused, MessageRefused) else ItemContent()
