"""Events of a clearinghouse.

`requested` means that the agent sent a transaction set and it was accepted; `answered`, that the payer answered it. The
EDI of each transaction is in one event: an interchange is its envelopes, in the events about the interchange, with
the transactions that they name.
"""

from typing import Any, ClassVar, Literal

from clerkship.events.event import EffectType, Payload, collect_events
from clerkship.model.frozen import Frozen

ReceivedAs = Literal["real_time", "core", "batch"]
"""How an interchange was received: over HTTP, over HTTP in a CORE envelope, or as a file."""
ReplyPart = Literal["reply", "acknowledgments", "answers", "decision"]
"""What an interchange for the agent is: the reply in real time; the two replies to a batch; a later decision."""


class InterchangeReceived(Payload):
    """What events about an interchange of the agent have."""

    id: str
    """The number of the interchange in this run: `1`, `2`, …"""
    control_number: str
    """ISA13."""
    sender: str
    """Qualifier and id: `ZZ CLINIC01`."""
    receiver: str
    received_as: ReceivedAs
    file: str = ""
    """The path of the file of a batch."""
    header: str
    """The ISA segment."""
    delimiters: str
    """Separators of elements, repetitions, components and segments."""


class InterchangeAccepted(InterchangeReceived, kind="x12.interchange.accepted"):
    """An interchange was accepted; its transaction sets are accepted or refused on their own."""

    sets: int


class InterchangeRefused(InterchangeReceived, kind="x12.interchange.refused"):
    """An interchange was refused with a TA1; nothing in it was processed."""

    effect: ClassVar[EffectType] = "none"
    holds_body: ClassVar[bool] = True
    code: str
    """TA105, such as `025` for a control number that was used before."""
    reason: str
    edi: str
    """The interchange; only its beginning if it is long."""


class X12Requested(Payload):
    """The agent sent a transaction set, and it was accepted."""

    holds_body: ClassVar[bool] = True
    id: str
    """The number of the transaction in this run: `1`, `2`, … Requests and answers are numbered together."""
    interchange: str
    """The id of the interchange."""
    group: str
    """GS06."""
    transaction: str
    """ST01, such as `270`."""
    control_number: str
    """ST02."""
    trace: str
    """The first TRN02; empty if there is none."""
    delimiters: str
    """Separators of elements, repetitions, components and segments."""
    edi: str
    """The set, from ST to SE."""


class X12EligibilityRequested(X12Requested, kind="x12.eligibility.requested"):
    """The agent asked about eligibility (270)."""


class X12ClaimStatusRequested(X12Requested, kind="x12.claim_status.requested"):
    """The agent asked about the status of claims (276)."""


class X12AuthorizationRequested(X12Requested, kind="x12.authorization.requested"):
    """The agent requested, changed, cancelled or asked about an authorization (278)."""


class X12Answered(Payload):
    """A payer answered a transaction set."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    id: str
    interchange: str
    request: str
    """The id of the transaction that it answers."""
    transaction: str
    control_number: str
    trace: str
    reference: str = ""
    """The payer's reference number of the authorization that was requested or changed; empty for other answers."""
    delimiters: str
    edi: str


class X12EligibilityAnswered(X12Answered, kind="x12.eligibility.answered"):
    """The answer about eligibility (271)."""


class X12ClaimStatusAnswered(X12Answered, kind="x12.claim_status.answered"):
    """The answer about the status of claims (277)."""


class X12AuthorizationAnswered(X12Answered, kind="x12.authorization.answered"):
    """The answer about an authorization (278 response)."""


class TransactionRefused(Payload, kind="x12.transaction.refused"):
    """The agent sent a transaction set, and it was refused with a 999."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    holds_body: ClassVar[bool] = True
    id: str
    interchange: str
    group: str
    transaction: str
    control_number: str
    trace: str
    codes: tuple[str, ...]
    """IK502 to IK506, such as `5` for segments in error; of a refused group, AK905 and the following."""
    reasons: tuple[str, ...]
    delimiters: str
    edi: str
    """The set; only its beginning if it is long."""


class AcknowledgmentReceived(Payload, kind="x12.acknowledgment.received"):
    """The agent sent a TA1 or a 999. It is not answered."""

    holds_body: ClassVar[bool] = True
    id: str
    interchange: str
    transaction: str
    """`TA1` or `999`."""
    control_number: str
    """Of a TA1: the ISA13 that it acknowledges. Of a 999: its own ST02."""
    delimiters: str
    edi: str


class AcknowledgmentSent(Payload, kind="x12.acknowledgment.sent"):
    """A TA1 or a 999 for the agent was written."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    id: str
    interchange: str
    transaction: str
    control_number: str
    code: str
    """A, E, P or R: TA104, or AK901."""
    delimiters: str
    edi: str


class ReplyGroup(Frozen):
    """A functional group of a reply."""

    code: str
    """GS01."""
    control_number: str
    """GS06."""
    version: str
    """GS08."""
    sender: str
    """GS02."""
    receiver: str
    """GS03."""
    transactions: tuple[str, ...]
    """The ids of its sets, in order."""


class InterchangeReplied(Payload, kind="x12.interchange.replied"):
    """The reply to an interchange was written: its envelopes, and which transactions are in it."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    id: str
    """The id of the interchange that it replies to."""
    part: ReplyPart
    control_number: str
    """ISA13 of the reply."""
    ta1: str
    """The id of the TA1; empty if there is none."""
    groups: tuple[ReplyGroup, ...]


class BatchReplied(Payload, kind="x12.batch.replied"):
    """The reply to a batch, a part of it, or a later decision on a request in it was delivered."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    id: str
    """The id of the interchange that it replies to."""
    part: ReplyPart
    control_number: str
    """ISA13 of the reply."""
    path: str
    """The path of the file with the reply."""


class EnvelopeRefused(Payload, kind="x12.envelope.refused"):
    """A CORE envelope was refused. Its payload was not processed."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    code: str
    """The error code of the CORE connectivity rule, such as `PayloadTypeRequired`."""
    reason: str


PasOperation = Literal["submit", "inquire"]


class PasRequested(Payload, kind="x12.pas.requested"):
    """The agent submitted a prior authorization request over FHIR, or inquired about some, and it was accepted."""

    holds_body: ClassVar[bool] = True
    operation: PasOperation
    payer_id: str
    trace: str
    """The first identifier of the Claim."""
    bundle: dict[str, Any]


class PasAnswered(Payload, kind="x12.pas.answered"):
    """A payer answered a prior authorization request or inquiry over FHIR."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    operation: PasOperation
    payer_id: str
    trace: str
    rejection: str | None = None
    """The reason of the payer if it did not process the request."""
    responses: tuple[dict[str, Any], ...]
    """Each ClaimResponse, and the CommunicationRequests that belong to it."""


REQUESTED_EVENTS: dict[str, type[X12Requested]] = {
    "270": X12EligibilityRequested,
    "276": X12ClaimStatusRequested,
    "278": X12AuthorizationRequested,
}
ANSWERED_EVENTS: dict[str, type[X12Answered]] = {
    "271": X12EligibilityAnswered,
    "277": X12ClaimStatusAnswered,
    "278": X12AuthorizationAnswered,
}
EVENTS = collect_events(globals())
