"""Events of an interface engine.

`sent` means that the agent sent a message and it was accepted; `arrived` means that a message came for the agent.
"""

from typing import ClassVar

from clerkship.events.event import Payload


class Hl7MessageSent(Payload):
    """The agent sent a message, and it was accepted. If another sandbox objects, `hl7.message.objected` follows."""

    holds_body: ClassVar[bool] = True
    control_id: str
    trigger: str
    """The trigger event, such as `R01` (MSH-9.2)."""
    message: str


class AdtSent(Hl7MessageSent):
    """The agent sent a patient update."""

    kind: ClassVar[str] = "hl7.adt.sent"


class OrmSent(Hl7MessageSent):
    """The agent sent an order."""

    kind: ClassVar[str] = "hl7.orm.sent"


class OruSent(Hl7MessageSent):
    """The agent sent results."""

    kind: ClassVar[str] = "hl7.oru.sent"


class SiuSent(Hl7MessageSent):
    """The agent sent a scheduling notification."""

    kind: ClassVar[str] = "hl7.siu.sent"


class MdmSent(Hl7MessageSent):
    """The agent sent a document."""

    kind: ClassVar[str] = "hl7.mdm.sent"


class Hl7MessageArrived(Payload):
    """A message arrived in the agent's inbox."""

    id: str
    """The id of the inbox entry: `1`, `2`, … The same message may arrive twice."""
    control_id: str
    trigger: str
    message: str


class AdtArrived(Hl7MessageArrived):
    """A patient update arrived."""

    kind: ClassVar[str] = "hl7.adt.arrived"


class OrmArrived(Hl7MessageArrived):
    """An order arrived."""

    kind: ClassVar[str] = "hl7.orm.arrived"


class OruArrived(Hl7MessageArrived):
    """Results arrived."""

    kind: ClassVar[str] = "hl7.oru.arrived"


class SiuArrived(Hl7MessageArrived):
    """A scheduling notification arrived."""

    kind: ClassVar[str] = "hl7.siu.arrived"


class MdmArrived(Hl7MessageArrived):
    """A document arrived."""

    kind: ClassVar[str] = "hl7.mdm.arrived"


class AckArrived(Hl7MessageArrived):
    """In enhanced mode: the application acknowledgment of a message from the agent arrived."""

    kind: ClassVar[str] = "hl7.ack.arrived"


class Hl7MessageRefused(Payload):
    """The agent sent a message, and it was refused."""

    kind: ClassVar[str] = "hl7.message.refused"
    holds_body: ClassVar[bool] = True
    control_id: str
    type: str
    """MSH-9 as far as it can be parsed, such as `ORU^R01`."""
    ack: str
    """AE, AR, CE or CR; empty if the message is itself an acknowledgment."""
    reasons: tuple[str, ...]
    message: str


class MessageObjected(Payload):
    """A message was accepted, but another sandbox could not process it. The acknowledgment tells the sender."""

    kind: ClassVar[str] = "hl7.message.objected"
    control_id: str
    ack: str
    """The code of its acknowledgment: AE."""
    reasons: tuple[str, ...]


class MessageRepeated(Payload):
    """The agent sent an accepted message again. It was answered as before, and had no other effect."""

    kind: ClassVar[str] = "hl7.message.repeated"
    control_id: str
    ack: str


class InboxListed(Payload):
    """The agent listed its inbox."""

    kind: ClassVar[str] = "hl7.inbox.listed"
    ids: tuple[str, ...]


class MessageTaken(Payload):
    """A message was read by the agent, or by the run to deliver it to the agent's listener."""

    kind: ClassVar[str] = "hl7.message.taken"
    id: str
    control_id: str
    over: str
    """`http` or `mllp`."""


class MessageAcknowledged(Payload):
    """The agent acknowledged a message."""

    kind: ClassVar[str] = "hl7.message.acknowledged"
    holds_body: ClassVar[bool] = True
    id: str
    control_id: str
    """The control id of the acknowledged message."""
    ack: str
    """AA, AE or AR; or CA, CE or CR."""
    text: str
    message: str
    """The acknowledgment."""


class ListenerNamed(Payload):
    """The agent registered a listener. Its address is not logged, because it differs between machines."""

    kind: ClassVar[str] = "hl7.listener.named"


class ListenerGone(Payload):
    """The agent deregistered its listener."""

    kind: ClassVar[str] = "hl7.listener.gone"


SENT_EVENTS: dict[str, type[Hl7MessageSent]] = {
    "ADT": AdtSent,
    "ORM": OrmSent,
    "ORU": OruSent,
    "SIU": SiuSent,
    "MDM": MdmSent,
}
ARRIVED_EVENTS: dict[str, type[Hl7MessageArrived]] = {
    "ADT": AdtArrived,
    "ORM": OrmArrived,
    "ORU": OruArrived,
    "SIU": SiuArrived,
    "MDM": MdmArrived,
    "ACK": AckArrived,
}
EVENTS: tuple[type[Payload], ...] = (
    *SENT_EVENTS.values(),
    *ARRIVED_EVENTS.values(),
    Hl7MessageRefused,
    MessageObjected,
    MessageRepeated,
    InboxListed,
    MessageTaken,
    MessageAcknowledged,
    ListenerNamed,
    ListenerGone,
)
