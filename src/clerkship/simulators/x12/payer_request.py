"""Ask the payer what a transaction set asks, and write the payer's answer as a set."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.payer.answer import Appeal, AuthorizationAnswer, Rejection
from clerkship.payer.state import PayerState
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.x12.transactions.authorization import (
    AskedAuthorization,
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
    answers = [payer.check_eligibility(payer_action, asked.inquiry) for asked in read_eligibility(tree)]
    return PayerReply(write_eligibility(tree, answers, header))


def answer_claim_status(tree: Loop, action: ActionContext, header: ReplyHeader) -> PayerReply:
    """Answer a 276 with a 277."""
    payer, payer_action = action.domain(PayerState)
    answers = [payer.find_claims(payer_action, asked.query) for asked in read_claim_status(tree)]
    return PayerReply(write_claim_status(tree, answers, header))


def answer_authorization(tree: Loop, action: ActionContext, header: ReplyHeader) -> PayerReply:
    """Answer a 278 request or inquiry with a 278 response."""
    asked = read_authorization(tree)
    answer = asked.rejection or _ask_about_authorization(asked, action)
    reference = ""
    if isinstance(answer, AuthorizationAnswer) and answer.authorizations and asked.kind in ("request", "update"):
        reference = answer.authorizations[0].id
    return PayerReply(write_authorization(tree, answer, header), reference)


def _ask_about_authorization(
    asked: AskedAuthorization, action: ActionContext
) -> AuthorizationAnswer | Appeal | Rejection:
    payer, payer_action = action.domain(PayerState)
    query, reference = asked.query, asked.reference or ""
    match asked.kind:
        case "update":
            return payer.update_authorization(payer_action, reference, query)
        case "cancel":
            return payer.cancel_authorization(payer_action, reference, query)
        case "appeal":
            return payer.appeal(payer_action, query, reference, query.note, query.attachments)
        case "inquiry":
            return payer.find_authorizations(payer_action, query, asked.reference)
    return payer.request_authorization(payer_action, query)


ANSWERS: Mapping[str, AnswerSet] = {
    "270": answer_eligibility,
    "276": answer_claim_status,
    "278": answer_authorization,
}
"""By ST01 of the request."""
