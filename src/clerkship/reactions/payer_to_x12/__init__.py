"""Send the decisions that a payer makes later to the clearinghouse through which they were requested."""

from clerkship.events.event import Event
from clerkship.payer.answer import AuthorizationAnswer
from clerkship.payer.events import AuthorizationDetermined
from clerkship.payer.state import PayerState
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.x12.processing import send_decision
from clerkship.simulators.x12.state import X12State

LATER = ("system", "scenario")
"""The actors of decisions that do not answer a request at once: the payer after a delay, and the scenario."""


def send_determination(state: X12State, action: ActionContext, event: Event) -> None:
    """Send a decision that was made later, as a 278 response. A request that is still pending has none yet."""
    if not isinstance(event.payload, AuthorizationDetermined) or event.actor not in LATER:
        return
    payer, authorization = action.source(PayerState), event.payload.authorization
    if authorization.status != "pending":
        answer = AuthorizationAnswer(
            payer_name=payer.name_payer(authorization.payer_id),
            member=payer.current.find_member(authorization.member_key),
            authorizations=(authorization,),
        )
        send_decision(state, action, answer)


REACTIONS = {AuthorizationDetermined.kind: send_determination}
