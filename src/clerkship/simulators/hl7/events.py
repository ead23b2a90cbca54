"""What happens to messages. `sent` is what the agent sent and was taken; `arrived` is what came for the agent."""

from typing import ClassVar

from clerkship.events.event import Payload


class Sent(Payload):
    """The agent sent a message, and it was taken; what it was answered with, where others objected to it, is said in
    `hl7.message.objected`."""

    holds_body: ClassVar[bool] = True
    control_id: str
    trigger: str
    """`R01`: MSH-9.2."""
    message: str


class AdtSent(Sent):
    """The agent sent news of a patient."""

    kind: ClassVar[str] = "hl7.adt.sent"


class OrmSent(Sent):
    """The agent sent an order."""

    kind: ClassVar[str] = "hl7.orm.sent"


class OruSent(Sent):
    """The agent sent results."""

    kind: ClassVar[str] = "hl7.oru.sent"


class SiuSent(Sent):
    """The agent sent news of an appointment."""

    kind: ClassVar[str] = "hl7.siu.sent"


class MdmSent(Sent):
    """The agent sent a document."""

    kind: ClassVar[str] = "hl7.mdm.sent"


class Arrived(Payload):
    """A message is in the agent's inbox."""

    id: str
    """Which entry of the inbox: `1`, `2`, … The same message may arrive twice."""
    control_id: str
    trigger: str
    message: str


class AdtArrived(Arrived):
    """News of a patient came."""

    kind: ClassVar[str] = "hl7.adt.arrived"


class OrmArrived(Arrived):
    """An order came."""

    kind: ClassVar[str] = "hl7.orm.arrived"


class OruArrived(Arrived):
    """Results came."""

    kind: ClassVar[str] = "hl7.oru.arrived"


class SiuArrived(Arrived):
    """News of an appointment came."""

    kind: ClassVar[str] = "hl7.siu.arrived"


class MdmArrived(Arrived):
    """A document came."""

    kind: ClassVar[str] = "hl7.mdm.arrived"


class AckArrived(Arrived):
    """In enhanced mode: the application's acknowledgement of what the agent sent came."""

    kind: ClassVar[str] = "hl7.ack.arrived"


class MessageRefused(Payload):
    """The agent sent a message, and it was not taken."""

    kind: ClassVar[str] = "hl7.message.refused"
    holds_body: ClassVar[bool] = True
    control_id: str
    type: str
    """`ORU^R01`: MSH-9 as far as it can be read."""
    ack: str
    """AE, AR, CE or CR; empty for an acknowledgement, which is not answered."""
    reasons: tuple[str, ...]
    message: str


class MessageObjected(Payload):
    """A message that was taken could not be followed where it should have been: its sender is told so."""

    kind: ClassVar[str] = "hl7.message.objected"
    control_id: str
    ack: str
    """AE: what it is answered with after all."""
    reasons: tuple[str, ...]


class MessageRepeated(Payload):
    """The agent sent a message again that had been taken: nothing was done but to answer as before."""

    kind: ClassVar[str] = "hl7.message.repeated"
    control_id: str
    ack: str


class InboxListed(Payload):
    """The agent looked at what is in its inbox."""

    kind: ClassVar[str] = "hl7.inbox.listed"
    ids: tuple[str, ...]


class MessageTaken(Payload):
    """A message was read for the agent: by itself, or by the run, to deliver it to its listener."""

    kind: ClassVar[str] = "hl7.message.taken"
    id: str
    control_id: str
    over: str
    """`http` or `mllp`."""


class MessageAcknowledged(Payload):
    """The agent said what it made of a message."""

    kind: ClassVar[str] = "hl7.message.acknowledged"
    holds_body: ClassVar[bool] = True
    id: str
    control_id: str
    """Of the message that is acknowledged."""
    ack: str
    """AA, AE, AR; or CA, CE, CR."""
    text: str
    message: str
    """The acknowledgement itself."""


class ListenerNamed(Payload):
    """The agent said that it listens; where, differs between machines and is not kept."""

    kind: ClassVar[str] = "hl7.listener.named"


class ListenerGone(Payload):
    """The agent said that it listens no more."""

    kind: ClassVar[str] = "hl7.listener.gone"


SENT: dict[str, type[Sent]] = {"ADT": AdtSent, "ORM": OrmSent, "ORU": OruSent, "SIU": SiuSent, "MDM": MdmSent}
ARRIVED: dict[str, type[Arrived]] = {
    "ADT": AdtArrived,
    "ORM": OrmArrived,
    "ORU": OruArrived,
    "SIU": SiuArrived,
    "MDM": MdmArrived,
    "ACK": AckArrived,
}
EVENTS: tuple[type[Payload], ...] = (
    *SENT.values(),
    *ARRIVED.values(),
    MessageRefused,
    MessageObjected,
    MessageRepeated,
    InboxListed,
    MessageTaken,
    MessageAcknowledged,
    ListenerNamed,
    ListenerGone,
)
