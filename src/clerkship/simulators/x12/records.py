"""What a clearinghouse stores about interchanges and transactions."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet, parse_transaction_set
from clerkship.simulators.x12.events import ReceivedAs, ReplyGroup, ReplyPart

TA1 = "TA1"
"""The code of an interchange acknowledgment, which is a segment and no set."""
TransactionOutcome = Literal["accepted", "refused", "noted", "answer", "acknowledgment"]
"""What became of a transaction of the agent; or what a transaction for the agent is."""


@dataclass(slots=True)
class X12Transaction:
    """A transaction set or a TA1 that the agent sent, or that was written for it."""

    id: str
    seq: int
    at: datetime
    interchange: str
    transaction: str
    """ST01, or `TA1`."""
    control_number: str
    trace: str
    outcome: TransactionOutcome
    delimiters: X12Delimiters
    edi: str
    reasons: tuple[str, ...] = ()
    """Why it was refused."""
    other: str = ""
    """The id of the answer to a request, or of the request that an answer answers; empty if there is none."""
    reference: str = ""
    """Of an answer: the payer's reference number of the authorization."""
    is_delivered: bool = True
    """Whether the agent has it. What was written for a batch is delivered later."""

    @property
    def is_from_agent(self) -> bool:
        return self.outcome in ("accepted", "refused", "noted")

    def parse(self) -> TransactionSet:
        return parse_transaction_set(self.edi, self.delimiters)


@dataclass(slots=True)
class InterchangeReply:
    """An interchange that was written for the agent."""

    seq: int
    at: datetime
    part: ReplyPart
    control_number: str
    ta1: str
    groups: tuple[ReplyGroup, ...]
    interchange: str
    """The id of the interchange that it replies to."""
    due: datetime | None = None
    """When it is to be delivered; None once it is."""

    @property
    def transactions(self) -> list[str]:
        """The ids of everything in it."""
        return [*filter(None, (self.ta1,)), *(id for group in self.groups for id in group.transactions)]


@dataclass(slots=True)
class X12Interchange:
    """An interchange that the agent sent, and the replies to it."""

    id: str
    seq: int
    at: datetime
    control_number: str
    sender: str
    receiver: str
    received_as: ReceivedAs
    file: str
    header: str
    delimiters: X12Delimiters
    code: str = "000"
    """TA105: `000` if it was accepted."""
    reason: str = ""
    transactions: list[str] = field(default_factory=list)
    """The ids of what the agent sent in it."""
    replies: list[InterchangeReply] = field(default_factory=list)

    @property
    def is_accepted(self) -> bool:
        """Whether it was accepted as a whole."""
        return self.code == "000"
