"""Calls of operations over MLLP: messages in, acknowledgements out."""

from typing import Any, ClassVar, TypeVar

from clerkship.hl7.message import encode_message
from clerkship.sandbox.operation import OK, OperationCall, OperationContext, SimulatorInterface
from clerkship.sandbox.request import Refusal, Reply
from clerkship.simulators.hl7 import operations as ops
from clerkship.simulators.hl7.nak import read_head, reject, reject_unread

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")


class MllpCall(OperationCall[InputT, ResultT]):
    """A call whose answer is written in ER7."""

    transport: ClassVar[str] = "mllp"

    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Write acknowledgements, or a message of the inbox."""
        text, codes = result if isinstance(result, ops.Answered) else (result or "", "")
        return Reply(OK, encode_message(text)[0] if text else b"", answer=codes, result=result)

    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        """Write a reject, from the sender's own MSH if it can be read."""
        head, reason = read_head(self.body), f"{refusal.reason} ({refusal.status})"
        body = reject(head, reason) if head is not None else reject_unread(reason)
        return Reply(refusal.status, body, refusal=refusal)


class SendMessage(MllpCall[ops.NewMessages, ops.Answered]):
    """A message of the agent, as far as the listener kept it."""

    def __init__(self, data: bytes, size: int = 0) -> None:
        super().__init__(ops.send_message, ops.NewMessages(message=data, size=size), body=data)

    @property
    def target(self) -> str:
        """The type and control id of the message, `ADT^A08 (MSG00012)`: MSH-9 and MSH-10, as far as they are there."""
        return title_of(self.body)


def read_message(id: str) -> MllpCall[ops.InboxMessage, str]:
    """Take a message from the inbox."""
    return MllpCall(ops.read_message, ops.InboxMessage(id=id), f"/{id}")


def acknowledge(id: str, data: bytes) -> MllpCall[ops.NewAcknowledgement, None]:
    """Acknowledge a message of the inbox."""
    return MllpCall(ops.acknowledge_message, ops.NewAcknowledgement(id=id, message=data), title_of(data), data)


def title_of(data: bytes) -> str:
    """Return the type and control id of a message."""
    header = data[:2000].lstrip(b"\xef\xbb\xbf \r\n").partition(b"\r")[0].decode(errors="replace")
    fields = header.split(header[3]) if header.startswith("MSH") and len(header) > 3 else []
    parts = [*fields, *[""] * 10]
    kind = "^".join(parts[8].split("^")[:2])
    return f"{kind or 'message'} ({parts[9]})" if parts[9] else kind or "message"
