"""Calls of operations over MLLP: messages in, acknowledgments out."""

from typing import Any, ClassVar, TypeVar

from clerkship.formats.hl7.message import encode_message
from clerkship.sandbox.operation import OK, OperationCall, OperationContext, SimulatorInterface
from clerkship.sandbox.request import Refusal, Reply
from clerkship.simulators.hl7 import operations as ops
from clerkship.simulators.hl7.nak import build_reject, build_reject_without_header, read_header

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")


class MllpCall(OperationCall[InputT, ResultT]):
    """A call whose reply is rendered in ER7."""

    transport: ClassVar[str] = "mllp"

    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Render acknowledgments, or a message of the inbox."""
        text, codes = result if isinstance(result, ops.Acknowledgments) else (result or "", "")
        return Reply(OK, encode_message(text)[0] if text else b"", answer=codes, result=result)

    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        """Render a reject, addressed by the sender's MSH if it can be parsed."""
        message, reason = read_header(self.body), f"{refusal.reason} ({refusal.status})"
        body = build_reject(message, reason) if message is not None else build_reject_without_header(reason)
        return Reply(refusal.status, body, refusal=refusal)


class SendMessage(MllpCall[ops.NewMessages, ops.Acknowledgments]):
    """A message from the agent, truncated if it was too large."""

    def __init__(self, data: bytes, size: int = 0) -> None:
        super().__init__(ops.send_message, ops.NewMessages(message=data, size=size), body=data)

    @property
    def target(self) -> str:
        """The type and control id of the message (MSH-9 and MSH-10), such as `ADT^A08 (MSG00012)`."""
        return describe_message(self.body)


def build_read_call(id: str) -> MllpCall[ops.InboxMessage, str]:
    """Build the call that reads a message of the inbox."""
    return MllpCall(ops.read_message, ops.InboxMessage(id=id), f"/{id}")


def build_ack_call(id: str, data: bytes) -> MllpCall[ops.NewAcknowledgment, None]:
    """Build the call that acknowledges a message of the inbox."""
    return MllpCall(ops.acknowledge_message, ops.NewAcknowledgment(id=id, message=data), describe_message(data), data)


def describe_message(data: bytes) -> str:
    """Return the type and control id of a message."""
    header = data[:2000].lstrip(b"\xef\xbb\xbf \r\n").partition(b"\r")[0].decode(errors="replace")
    fields = header.split(header[3]) if header.startswith("MSH") and len(header) > 3 else []
    parts = [*fields, *[""] * 10]
    kind = "^".join(parts[8].split("^")[:2])
    return f"{kind or 'message'} ({parts[9]})" if parts[9] else kind or "message"
