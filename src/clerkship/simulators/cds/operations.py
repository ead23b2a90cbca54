"""The operations of an EHR that calls CDS services."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from clerkship.formats.cds_hooks.validation import validate_discovery, validate_response
from clerkship.formats.cds_hooks.wire_model import CdsService, FeedbackRequest
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.sandbox.authentication.jwks import show_public_keys
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.cds.config import parse_base_url
from clerkship.simulators.cds.events import FailureReason, Json
from clerkship.simulators.cds.records import PreparedCall, TriggeredHook
from clerkship.simulators.cds.state import CdsState

Context = OperationContext[CdsState]
LINK = "services"
"""The name under which the base URL of the agent's services is registered."""
PROTOCOL = "cds"
"""The transport of calls that only the delivery makes."""


class ServicesUrl(Frozen):
    """Where the services of the agent are."""

    url: Annotated[str, Field(max_length=2000, description="base URL, such as http://127.0.0.1:8080")]


class HookInstance(Frozen):
    """A hook that fired."""

    instance: Annotated[str, Field(description="the hookInstance of the request")]


class RegisteredServices(NamedTuple):
    """The services that were discovered."""

    is_discovered: bool
    services: Sequence[CdsService]


class CallId(Frozen):
    """One call of a service."""

    id: str


class ServiceAnswer(CallId):
    """What a service answered."""

    status: Whole
    body: bytes


class CallFailure(CallId):
    """Why a call failed."""

    reason: FailureReason
    status: Whole | None = None


class DiscoveryAnswer(Frozen):
    """What the discovery endpoint answered."""

    body: bytes


class DiscoveryFailure(Frozen):
    """Why the discovery endpoint could not be read."""

    reason: FailureReason
    status: Whole | None = None


class FeedbackResult(CallId):
    """Whether a service accepted its feedback."""

    delivered: Flag
    status: Whole | None = None


@operation(tool=False, logs_body=False)
def register_services(context: Context, input: ServicesUrl) -> None:
    """Register the base URL of your CDS services. The EHR reads {url}/cds-services, and calls them from then on."""
    try:
        parse_base_url(input.url)
    except ValueError as error:
        raise Refusal(400, "bad_url", str(error)) from None
    context.register_callback(LINK, input.url)  # first, because it may refuse the address
    context.state.register(context.action)


@operation()
def list_services(context: Context, _: NoInput) -> RegisteredServices:
    """List the services that the EHR discovered at the registered URL."""
    return RegisteredServices(context.state.is_discovered, context.state.services)


@operation(tool=False)
def remove_services(context: Context, _: NoInput) -> None:
    """Remove your services. The EHR does not call them any more."""
    context.state.remove(context.action)
    context.register_callback(LINK, "")


@operation()
def list_hooks(context: Context, _: NoInput) -> Sequence[TriggeredHook]:
    """List the hooks that fired, with the calls of your services and what became of the cards."""
    return list(context.state.hooks.values())


@operation()
def read_hook(context: Context, input: HookInstance) -> TriggeredHook:
    """Return one hook that fired: its context, calls, cards, problems and decisions."""
    return context.state.find_hook(input.instance)


# Only the delivery calls these: they report what happened when it called the agent.


def _check_delivery(context: Context) -> None:
    if context.transport != PROTOCOL:
        reason = "only the EHR itself reports its calls; answer the POST to your service instead"
        raise Refusal(403, "not_allowed", reason)


@operation(tool=False)
def report_discovery(context: Context, input: DiscoveryAnswer) -> None:
    """Store the services that the discovery endpoint listed."""
    _check_delivery(context)
    context.state.discover(context.action, validate_discovery(input.body))


@operation(tool=False)
def report_discovery_failure(context: Context, input: DiscoveryFailure) -> None:
    """Record that the discovery endpoint could not be read."""
    _check_delivery(context)
    context.state.fail_discovery(context.action, input.reason, input.status)


@operation(tool=False)
def prepare_call(context: Context, input: CallId) -> PreparedCall:
    """Build the request for a service, with the prefetch."""
    _check_delivery(context)
    return context.state.fire(context.action, input.id)


@operation(tool=False)
def report_answer(context: Context, input: ServiceAnswer) -> None:
    """Record the answer of a service."""
    _check_delivery(context)
    state = context.state
    patient = state.hooks[state.find_call(input.id).instance].patient
    state.answer(context.action, input.id, input.status, validate_response(input.body, patient))


@operation(tool=False)
def report_failure(context: Context, input: CallFailure) -> None:
    """Record that a call failed."""
    _check_delivery(context)
    context.state.fail(context.action, input.id, input.reason, input.status)


@operation(tool=False)
def decide_cards(context: Context, input: CallId) -> None:
    """Have the clinician deal with the cards of an answer."""
    _check_delivery(context)
    context.state.decide_cards(context.action, input.id)


@operation(tool=False)
def prepare_feedback(context: Context, input: CallId) -> Json:
    """Build the feedback for a service."""
    _check_delivery(context)
    feedback = context.state.find_call(input.id).feedback
    return FeedbackRequest.model_validate({"feedback": feedback}).to_wire()


@operation(tool=False)
def report_feedback(context: Context, input: FeedbackResult) -> None:
    """Record that feedback was sent."""
    _check_delivery(context)
    context.state.log_feedback(context.action, input.id, delivered=input.delivered, status=input.status)


OPERATIONS = (
    *(register_services, list_services, remove_services, list_hooks, read_hook, show_public_keys),
    *(report_discovery, report_discovery_failure, prepare_call, report_answer, report_failure),
    *(decide_cards, prepare_feedback, report_feedback),
)
