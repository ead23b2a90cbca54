"""Send the decision of a payer that comes after the reply to a request: a 278 response that was not asked for."""

from clerkship.formats.x12.validation import validate_set
from clerkship.payer.answer import AuthorizationAnswer
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.x12.events import InterchangeReplied, ReplyGroup, X12AuthorizationAnswered
from clerkship.simulators.x12.records import X12Transaction
from clerkship.simulators.x12.state import X12State
from clerkship.simulators.x12.transactions.authorization import write_authorization
from clerkship.simulators.x12.transactions.reply import ReplyHeader

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
    response = write_authorization(tree, answer, ReplyHeader(CONTROL_NUMBER, sent, request.delimiters, charset))
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
