"""Events of an interface engine.

`sent` means that the agent sent a message and it was accepted; `arrived` means that a message came for the agent.
"""

from typing import ClassVar

from clerkship.events.event import EffectType, Payload, collect_events


class Hl7MessageSent(Payload):
    """The agent sent a message, and it was accepted. If another sandbox objects, `hl7.message.objected` follows."""

    holds_body: ClassVar[bool] = True
    control_id: str
    trigger: str
    """The trigger event, such as `R01` (MSH-9.2)."""
    message: str
    findings: tuple[str, ...] = ()
    """What `validation: strict` would have refused, each with its code of HL7 table 0357."""


class AdtSent(Hl7MessageSent, kind="hl7.adt.sent"):
    """The agent sent a patient update."""


class OrmSent(Hl7MessageSent, kind="hl7.orm.sent"):
    """The agent sent an order."""


class OruSent(Hl7MessageSent, kind="hl7.oru.sent"):
    """The agent sent results."""


class SiuSent(Hl7MessageSent, kind="hl7.siu.sent"):
    """The agent sent a scheduling notification."""


class MdmSent(Hl7MessageSent, kind="hl7.mdm.sent"):
    """The agent sent a document."""


class Hl7MessageArrived(Payload):
    """A message arrived in the agent's inbox."""

    is_by_sandbox: ClassVar[bool] = True
    id: str
    """The id of the inbox entry: `1`, `2`, … The same message may arrive twice."""
    control_id: str
    trigger: str
    message: str


class AdtArrived(Hl7MessageArrived, kind="hl7.adt.arrived"):
    """A patient update arrived."""


class OrmArrived(Hl7MessageArrived, kind="hl7.orm.arrived"):
    """An order arrived."""


class OruArrived(Hl7MessageArrived, kind="hl7.oru.arrived"):
    """Results arrived."""


class SiuArrived(Hl7MessageArrived, kind="hl7.siu.arrived"):
    """A scheduling notification arrived."""


class MdmArrived(Hl7MessageArrived, kind="hl7.mdm.arrived"):
    """A document arrived."""


class AckArrived(Hl7MessageArrived, kind="hl7.ack.arrived"):
    """In enhanced mode: the application acknowledgment of a message from the agent arrived."""


class Hl7MessageRefused(Payload, kind="hl7.message.refused"):
    """The agent sent a message, and it was refused."""

    effect: ClassVar[EffectType] = "none"
    holds_body: ClassVar[bool] = True
    control_id: str
    type: str
    """MSH-9 as far as it can be parsed, such as `ORU^R01`."""
    ack: str
    """AE, AR, CE or CR; empty if the message is itself an acknowledgment."""
    reasons: tuple[str, ...]
    message: str


class MessageObjected(Payload, kind="hl7.message.objected"):
    """A message was accepted, but another sandbox could not process it. The acknowledgment tells the sender."""

    is_by_sandbox: ClassVar[bool] = True
    control_id: str
    ack: str
    """The code of its acknowledgment: AE."""
    reasons: tuple[str, ...]


class MessageRepeated(Payload, kind="hl7.message.repeated"):
    """The agent sent an accepted message again. It was answered as before, and had no other effect."""

    effect: ClassVar[EffectType] = "none"
    control_id: str
    ack: str


class InboxListed(Payload, kind="hl7.inbox.listed"):
    """The agent listed its inbox."""

    effect: ClassVar[EffectType] = "none"
    ids: tuple[str, ...]


class MessageTaken(Payload, kind="hl7.message.taken"):
    """A message was read by the agent, or by the run to deliver it to the agent's listener."""

    id: str
    control_id: str
    over: str
    """`http` or `mllp`."""


class MessageAcknowledged(Payload, kind="hl7.message.acknowledged"):
    """The agent acknowledged a message."""

    holds_body: ClassVar[bool] = True
    id: str
    control_id: str
    """The control id of the acknowledged message."""
    ack: str
    """AA, AE or AR; or CA, CE or CR."""
    text: str
    message: str
    """The acknowledgment."""


class ListenerNamed(Payload, kind="hl7.listener.named"):
    """The agent registered a listener. Its address is not logged, because it differs between machines."""


class ListenerGone(Payload, kind="hl7.listener.gone"):
    """The agent deregistered its listener."""


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
EVENTS = collect_events(globals())
