"""Process an interchange: accept or refuse it and its sets, have the payer answer, and write the reply."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clerkship.events.event import Payload
from clerkship.formats.x12.acknowledgments import ACK_999_VERSION, build_999, build_ta1
from clerkship.formats.x12.envelope_checks import FUNCTIONAL_CODES
from clerkship.formats.x12.interchange import FunctionalGroup, Interchange
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.problems import EnvelopeProblem
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import validate_set
from clerkship.payer.answer import Appeal, AuthorizationAnswer, Rejection
from clerkship.payer.state import PayerState
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.x12.events import (
    ANSWERED_EVENTS,
    REQUESTED_EVENTS,
    AcknowledgmentReceived,
    AcknowledgmentSent,
    InterchangeAccepted,
    InterchangeReceived,
    InterchangeRefused,
    InterchangeReplied,
    ReceivedAs,
    ReplyGroup,
    ReplyPart,
    TransactionRefused,
    X12AuthorizationAnswered,
)
from clerkship.simulators.x12.intake import (
    ANSWERED_SETS,
    SetVerdict,
    check_group,
    check_transaction,
    find_interchange_problem,
)
from clerkship.simulators.x12.records import TA1, X12Interchange, X12Transaction
from clerkship.simulators.x12.state import X12State, receiver_of, sender_of
from clerkship.simulators.x12.transactions.authorization import (
    AuthorizationRequest,
    read_authorization,
    write_authorization,
)
from clerkship.simulators.x12.transactions.claim_status import read_claim_status, write_claim_status
from clerkship.simulators.x12.transactions.eligibility import read_eligibility, write_eligibility
from clerkship.simulators.x12.transactions.reply import ReplyHeader


class PayerReply(NamedTuple):
    """The answer of a payer as a set."""

    answer: TransactionSet
    reference: str = ""
    """The payer's reference number of the authorization that was requested or changed."""


AnswerSet = Callable[[Loop, ActionContext, ReplyHeader], PayerReply]
"""Asks the payer, and returns the answer."""


def answer_eligibility(tree: Loop, action: ActionContext, header: ReplyHeader) -> PayerReply:
    """Answer a 270 with a 271."""
    payer, payer_action = action.domain(PayerState)
    answers = [payer.check_eligibility(payer_action, request.inquiry) for request in read_eligibility(tree)]
    return PayerReply(write_eligibility(tree, answers, header))


def answer_claim_status(tree: Loop, action: ActionContext, header: ReplyHeader) -> PayerReply:
    """Answer a 276 with a 277."""
    payer, payer_action = action.domain(PayerState)
    answers = [payer.find_claims(payer_action, request.query) for request in read_claim_status(tree)]
    return PayerReply(write_claim_status(tree, answers, header))


def answer_authorization(tree: Loop, action: ActionContext, header: ReplyHeader) -> PayerReply:
    """Answer a 278 request or inquiry with a 278 response."""
    request = read_authorization(tree)
    answer = request.rejection or ask_about_authorization(request, action)
    reference = ""
    if isinstance(answer, AuthorizationAnswer) and answer.authorizations and request.kind in ("request", "update"):
        reference = answer.authorizations[0].id
    payer_name = action.domain(PayerState)[0].name_payer(request.query.payer_id)
    return PayerReply(write_authorization(tree, answer, header, payer_name), reference)


def ask_about_authorization(
    request: AuthorizationRequest, action: ActionContext
) -> AuthorizationAnswer | Appeal | Rejection:
    """Put a request of a 278, or of a Claim over FHIR, to the payer."""
    payer, payer_action = action.domain(PayerState)
    query, reference = request.query, request.reference or ""
    match request.kind:
        case "update":
            return payer.update_authorization(payer_action, reference, query)
        case "cancel":
            return payer.cancel_authorization(payer_action, reference, query)
        case "appeal":
            return payer.appeal(payer_action, query, reference, query.note, query.attachments)
        case "inquiry":
            return payer.find_authorizations(payer_action, query, request.reference)
    return payer.request_authorization(payer_action, query)


ANSWERS: Mapping[str, AnswerSet] = {
    "270": answer_eligibility,
    "276": answer_claim_status,
    "278": answer_authorization,
}
"""By ST01 of the request."""


MAX_LOGGED_EDI = 100_000
"""Characters of a refused interchange or set that are logged."""
DELIMITERS = "".join(DEFAULT_X12_DELIMITERS)
"""The separators of acknowledgments; a reply is written with those of its request."""


class Receipt(NamedTuple):
    """How an interchange was received."""

    received_as: ReceivedAs = "real_time"
    file: str = ""


def receive_interchange(
    state: X12State, action: ActionContext, interchange: Interchange, receipt: Receipt
) -> X12Interchange:
    """Process an interchange, and return its record, which has the reply."""
    return _InterchangeProcess(state, action, interchange, receipt).run()


@dataclass
class _Reply:
    """The parts of a reply while an interchange is processed."""

    ta1: str = ""
    acknowledgments: list[str] = field(default_factory=list)
    """The ids of the 999s."""
    groups: list[tuple[FunctionalGroup, list[str]]] = field(default_factory=list)
    """Each group of the request with the ids of the answers to it."""


class _InterchangeProcess:
    """Processes one interchange."""

    def __init__(self, state: X12State, action: ActionContext, interchange: Interchange, receipt: Receipt) -> None:
        self._state, self._action = state, action
        self._interchange, self._receipt = interchange, receipt
        self._id = str(len(state.interchanges) + 1)
        self._reply = _Reply()

    def run(self) -> X12Interchange:
        interchange = self._interchange
        problem = find_interchange_problem(interchange, self._state.config, self._state.used_numbers(interchange))
        if problem is not None:
            edi = interchange.received[:MAX_LOGGED_EDI]
            self._emit_received(InterchangeRefused, code=problem.code, reason=problem.text, edi=edi)
        else:
            self._emit_received(InterchangeAccepted, sets=len(interchange.sets))
            for segment in interchange.acknowledgments:
                self._note(TA1, segment.raw(1), segment.render() + interchange.delimiters.segment)
            for group in interchange.groups:
                self._process_group(group)
        if self._is_ta1_due(problem):
            ta1 = build_ta1(interchange, problem)
            self._reply.ta1 = self._send_acknowledgment(TA1, ta1.raw(1), ta1.raw(4), ta1.render() + "~")
        self._write_replies()
        return self._state.interchanges[self._id]

    # The interchange.

    def _emit_received(self, event: type[InterchangeReceived], **outcome: Any) -> None:
        interchange = self._interchange
        self._action.emit(
            event(
                id=self._id,
                control_number=interchange.control_number,
                sender=sender_of(interchange),
                receiver=receiver_of(interchange),
                received_as=self._receipt.received_as,
                file=self._receipt.file,
                header=interchange.header.render(),
                delimiters="".join(interchange.delimiters),
                **outcome,
            )
        )

    def _is_ta1_due(self, problem: EnvelopeProblem | None) -> bool:
        """Return whether a TA1 is sent: if it is asked for or the interchange is refused, never for a TA1 or 999."""
        interchange = self._interchange
        return not interchange.is_acknowledgment and (problem is not None or interchange.wants_ta1)

    # Groups and sets.

    def _process_group(self, group: FunctionalGroup) -> None:
        if group.is_acknowledgment:
            for transaction in group.sets:
                self._note(transaction.code, transaction.control_number, transaction.render())
            return
        check_group(group)
        answers: list[str] = []
        verdicts = [self._process_set(group, transaction, answers) for transaction in group.sets]
        is_refused = bool(group.problems) or not all(verdict.is_accepted for verdict in verdicts)
        if is_refused or self._receipt.received_as == "batch":
            self._acknowledge_group(group, verdicts)
        if answers:
            self._reply.groups.append((group, answers))

    def _process_set(self, group: FunctionalGroup, transaction: TransactionSet, answers: list[str]) -> SetVerdict:
        if group.problems:
            verdict = SetVerdict(transaction, None, ())
        else:
            verdict = check_transaction(transaction, self._state.config)
        if group.problems or not verdict.is_accepted:
            self._refuse_set(group, verdict)
        else:
            answers.append(self._answer_set(group, verdict, len(answers) + 1))
        return verdict

    def _refuse_set(self, group: FunctionalGroup, verdict: SetVerdict) -> None:
        transaction, problems = verdict.transaction, group.problems
        self._emit(
            TransactionRefused,
            **_describe_request(group, transaction),
            codes=(*(problem.code for problem in problems), *verdict.codes),
            reasons=(*(problem.text for problem in problems), *verdict.reasons),
            edi=transaction.render()[:MAX_LOGGED_EDI],
        )

    def _answer_set(self, group: FunctionalGroup, verdict: SetVerdict, number: int) -> str:
        transaction, described = verdict.transaction, _describe_request(group, verdict.transaction)
        assert verdict.tree is not None
        id = self._emit(REQUESTED_EVENTS[transaction.code], **described, edi=transaction.render())
        sent, charset = self._state.local_time(self._action.now), self._state.config.character_set
        header = ReplyHeader(f"{number:04}", sent, transaction.delimiters, charset)
        reply = ANSWERS[transaction.code](verdict.tree, self._action, header)
        answer = ANSWERED_SETS[transaction.code]
        return self._emit(
            ANSWERED_EVENTS[answer],
            request=id,
            transaction=answer,
            control_number=header.control_number,
            trace=described["trace"],
            reference=reply.reference,
            delimiters="".join(reply.answer.delimiters),
            edi=reply.answer.render(),
        )

    def _acknowledge_group(self, group: FunctionalGroup, verdicts: Sequence[SetVerdict]) -> None:
        number = f"{len(self._reply.acknowledgments) + 1:04}"
        acknowledgment = build_999(group, [verdict.errors for verdict in verdicts], number)
        code = next(segment.raw(1) for segment in reversed(acknowledgment.segments) if segment.id == "AK9")
        self._reply.acknowledgments.append(self._send_acknowledgment("999", number, code, acknowledgment.render()))

    # Acknowledgments.

    def _note(self, transaction: str, control_number: str, edi: str) -> None:
        self._emit(
            AcknowledgmentReceived,
            transaction=transaction,
            control_number=control_number,
            delimiters="".join(self._interchange.delimiters),
            edi=edi,
        )

    def _send_acknowledgment(self, transaction: str, control_number: str, code: str, edi: str) -> str:
        return self._emit(
            AcknowledgmentSent,
            transaction=transaction,
            control_number=control_number,
            code=code,
            delimiters=DELIMITERS,
            edi=edi,
        )

    # Replies.

    def _write_replies(self) -> None:
        """Write one interchange in real time; for a batch, one with the acknowledgments and one with the answers."""
        acknowledgments = self._acknowledgment_groups()
        if self._receipt.received_as == "batch":
            self._write_reply("acknowledgments", self._reply.ta1, acknowledgments)
            self._write_reply("answers", "", self._answer_groups(1))
        else:
            groups = [*acknowledgments, *self._answer_groups(len(acknowledgments) + 1)]
            self._write_reply("reply", self._reply.ta1, groups)

    def _write_reply(self, part: ReplyPart, ta1: str, groups: Sequence[ReplyGroup]) -> None:
        if not ta1 and not groups:
            return
        number = f"{self._state.last_control_number + 1:09}"
        self._action.emit(
            InterchangeReplied(id=self._id, part=part, control_number=number, ta1=ta1, groups=tuple(groups))
        )

    def _acknowledgment_groups(self) -> list[ReplyGroup]:
        """Return the group of the 999s, if there are any."""
        if not self._reply.acknowledgments:
            return []
        group = self._interchange.groups[0]
        return [self._reply_group("FA", ACK_999_VERSION, group, self._reply.acknowledgments, 1)]

    def _answer_groups(self, first: int) -> list[ReplyGroup]:
        return [
            self._reply_group(
                FUNCTIONAL_CODES[self._state.transactions[answers[0]].transaction], group.version, group, answers, place
            )
            for place, (group, answers) in enumerate(self._reply.groups, first)
        ]

    def _reply_group(
        self, code: str, version: str, group: FunctionalGroup, transactions: Sequence[str], place: int
    ) -> ReplyGroup:
        """Return a group of a reply, which goes back from the receiver of a group to its sender."""
        return ReplyGroup(
            code=code,
            control_number=str(self._state.last_group_number + place),
            version=version,
            sender=group.receiver,
            receiver=group.sender,
            transactions=tuple(transactions),
        )

    def _emit(self, event: Callable[..., Payload], **fields: Any) -> str:
        """Log a transaction of this interchange, and return its id."""
        id = str(len(self._state.transactions) + 1)
        self._action.emit(event(id=id, interchange=self._id, **fields))
        return id


def _describe_request(group: FunctionalGroup, transaction: TransactionSet) -> dict[str, Any]:
    return {
        "group": group.control_number,
        "transaction": transaction.code,
        "control_number": transaction.control_number,
        "trace": find_trace(transaction),
        "delimiters": "".join(transaction.delimiters),
    }


def find_trace(transaction: TransactionSet) -> str:
    """Return the first TRN02 of a set; empty if there is none."""
    start = f"TRN{transaction.delimiters.element}"
    text = next((text for text in transaction.segment_texts if text.startswith(start)), "")
    parts = text.split(transaction.delimiters.element)
    return parts[2] if len(parts) > 2 else ""


CONTROL_NUMBER = "0001"


def send_decision(state: X12State, action: ActionContext, answer: AuthorizationAnswer) -> None:
    """Send the response to the 278 that requested an authorization; nothing if it was requested in another way.

    It is an interchange of its own: among the replies to that of the request, and for a batch a file.
    """
    [authorization] = answer.authorizations
    request = state.find_authorization_request(authorization.id)
    if request is None:
        return
    tree = validate_set(request.parse()).tree
    sent, charset = state.local_time(action.now), state.config.character_set
    header = ReplyHeader(CONTROL_NUMBER, sent, request.delimiters, charset)
    response = write_authorization(tree, answer, header, answer.payer_name)
    group, id = _find_group(state, request), str(len(state.transactions) + 1)
    action.emit(
        X12AuthorizationAnswered(
            id=id,
            interchange=request.interchange,
            request=request.id,
            transaction=response.code,
            control_number=CONTROL_NUMBER,
            trace=request.trace,
            reference=authorization.id,
            delimiters="".join(response.delimiters),
            edi=response.render(),
        )
    )
    control_number, changed = f"{state.last_control_number + 1:09}", {"transactions": (id,)}
    reply = group.model_copy(update={"control_number": str(state.last_group_number + 1), **changed})
    action.emit(
        InterchangeReplied(
            id=request.interchange, part="decision", control_number=control_number, ta1="", groups=(reply,)
        )
    )


def _find_group(state: X12State, request: X12Transaction) -> ReplyGroup:
    """Return the group in which a request was answered first: the decision goes the same way."""
    replies = state.interchanges[request.interchange].replies
    groups = [group for reply in replies for group in reply.groups]
    return next(
        group for group in groups if any(state.transactions[id].other == request.id for id in group.transactions)
    )
