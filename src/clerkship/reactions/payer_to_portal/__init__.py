"""Put letters about the decisions of payers into the inbox of a payer portal."""

from clerkship.events.event import Event
from clerkship.payer.events import AppealDecided, AuthorizationDetermined
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.portal.desk import Desk, DeskRefusal
from clerkship.simulators.portal.letters import deliver_letter, write_appeal_decision, write_decision
from clerkship.simulators.portal.state import PortalState


def announce_decision(state: PortalState, action: ActionContext, event: Event) -> None:
    """Write about a decision, or about what the payer asks for. A request that is still pending has no letter."""
    desk = Desk(state, action, state.config.user)
    if not isinstance(event.payload, AuthorizationDetermined):
        return
    request = event.payload.authorization
    if request.status != "pending" and _is_readable(desk, request.id):
        member = desk.records.find_member(request.member_key)
        subject, paragraphs = write_decision(request, member, desk.payer.config.appeals.deadline)
        deliver_letter(desk, request.payer_id, subject, paragraphs, request.id, member)


def announce_appeal_decision(state: PortalState, action: ActionContext, event: Event) -> None:
    """Write about the decision on an appeal against a decision on a request."""
    desk = Desk(state, action, state.config.user)
    if not isinstance(event.payload, AppealDecided):
        return
    appeal = event.payload.appeal
    if _is_readable(desk, appeal.of):
        member = desk.records.find_member(desk.get_request(appeal.of).member_key)
        deliver_letter(desk, appeal.payer_id, *write_appeal_decision(appeal), appeal.of, member)


def _is_readable(desk: Desk, reference: str) -> bool:
    """Return whether the practice of the portal can see a request there."""
    try:
        desk.get_request(reference)
    except DeskRefusal:
        return False
    return True


REACTIONS = {AuthorizationDetermined.kind: announce_decision, AppealDecided.kind: announce_appeal_decision}
