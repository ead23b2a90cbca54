"""Parse files that contain HL7 messages. Imported when a criterion asks for that."""

from collections.abc import Sequence
from typing import Any

from clerkship.assertions.field_rows import compare_texts
from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.message import BadMessage, Hl7Message, parse_message
from clerkship.formats.hl7.validation import validate_message
from clerkship.model.run import FieldCheck
from clerkship.simulators.files.content import MAX_REASON_LENGTH, Content, UnreadableContent

MAX_LINES = 500_000


class Hl7Content(Content):
    """An HL7 message."""

    def __init__(self, message: Hl7Message) -> None:
        self._message = message

    def compare(self, path: str, expected: Any) -> FieldCheck:
        """Compare the value at a path such as `PID.5.1`; with `[*]`, any value may match."""
        return compare_texts(path, expected, [value for value in self._message.values(path) if value])

    def flaws(self) -> Sequence[str]:
        return [flaw.text for flaw in validate_message(self._message)]


def parse_messages(data: bytes) -> list[Content]:
    """Return each message of a file. Raises UnreadableContent."""
    if data.count(b"\r") + data.count(b"\n") > MAX_LINES:
        raise UnreadableContent(f"too large to be parsed: it has more than {MAX_LINES:,} lines")
    messages = split_messages(data).messages
    if not messages:
        raise UnreadableContent("not HL7: it contains no MSH segment")
    try:
        return [Hl7Content(parse_message(message)) for message in messages]
    except BadMessage as bad:
        raise UnreadableContent(f"not HL7: {str(bad)[:MAX_REASON_LENGTH]}") from None
