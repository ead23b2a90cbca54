"""Conditions on one message: its addresses, texts, attachments and thread."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from clerkship.events.query import field_check
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import describe_expected, is_matcher, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import compare_given, compare_value
from clerkship.simulators.messages.assertions.logged import LoggedMessage
from clerkship.simulators.messages.records import Channel


class AttachmentMatch(Frozen):
    """A file that a message must have."""

    name: Annotated[Expected | None, Field(description="literal or matcher for its name")] = None
    content: Annotated[Expected | None, Field(description="literal or matcher for its text")] = None
    content_type: Annotated[Expected | None, Field(description="literal or matcher for its media type")] = None

    def matches(self, message: LoggedMessage) -> bool:
        return any(
            _holds(self.name, attachment.name)
            and _holds(self.content_type, attachment.content_type)
            and (self.content is None or matches_expected(self.content, message.read_attachment(attachment)))
            for attachment in message.header.attachments
        )


class MessageMatch(Frozen):
    """Properties that a message must have."""

    channel: Annotated[Channel | None, Field(description="sms, email or portal; any if not given")] = None
    subject: Annotated[Expected | None, Field(description="literal or matcher for the subject")] = None
    text: Annotated[
        Expected | None,
        Field(description="literal or matcher for the body, also as HTML; with a list, all of its entries must hold"),
    ] = None
    attachments: Annotated[tuple[AttachmentMatch, ...], Field(description="files that it must have")] = ()
    thread: Annotated[Expected | None, Field(description="literal or matcher for the id of the thread")] = None
    in_reply_to: Annotated[
        Expected | None, Field(description="literal or matcher for the id of the message that it answers")
    ] = None

    def compare_properties(self, message: LoggedMessage) -> Iterator[FieldCheck]:
        """Yield a row for each expected property."""
        header, seq = message.header, message.event.seq
        values: list[tuple[str, Any, Any]] = [
            ("channel", self.channel, header.channel),
            ("subject", self.subject, MISSING if header.subject is None else header.subject),
            ("thread", self.thread, header.thread),
            ("in_reply_to", self.in_reply_to, MISSING if header.in_reply_to is None else header.in_reply_to),
        ]
        yield from compare_given(values, seq)
        for expected in _list_expectations(self.text):
            # A literal is the whole text; HTML with the same words in another form may be there as well.
            actual = message.shown_text if is_matcher(expected) or not message.text else message.text
            yield compare_value("text", expected, actual, seq)
        names = [attachment.name for attachment in header.attachments]
        for number, attachment in enumerate(self.attachments):
            path, expected = f"attachments[{number}]", attachment.model_dump(exclude_none=True)
            yield field_check(path, expected, names, passed=attachment.matches(message), seq=seq)


def describe_conditions(match: Frozen, names: Sequence[str]) -> str:
    """Describe the given fields of a match, as the end of a sentence."""
    given = [(name, getattr(match, name)) for name in names]
    return ", ".join(
        f"{name} {describe_expected(_to_plain(value))}" for name, value in given if value not in (None, ())
    )


def _to_plain(value: Any) -> Any:
    return [each.model_dump(exclude_none=True) for each in value] if isinstance(value, tuple) else value


def _list_expectations(expected: Any) -> Sequence[Any]:
    if expected is None:
        return ()
    return expected if isinstance(expected, list) else (expected,)


def _holds(expected: Any, actual: Any) -> bool:
    return expected is None or matches_expected(expected, actual)
