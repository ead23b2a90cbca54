"""Notifications of Subscriptions: a POST to the endpoint, or with a payload a PUT of the resource (R4 rest-hook)."""

from collections.abc import Iterable
from typing import Any, ClassVar
from urllib.parse import urlsplit

from clerkship.by_name import load
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationCall, OperationContext, operation
from clerkship.simulators.fhir.outcome import FHIR_JSON, refusal
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.subscriptions import LINK, parse_headers
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundDelivery
from clerkship.transports.outbound.policy import ResolvedAddress
from clerkship.transports.outbound.retry import RetryPolicy

_HTTP = "clerkship.transports.outbound.http"
"""Imported by name: runs without a Subscription do not need an HTTP client."""


class NotificationId(Frozen):
    """The id of a notification, such as `7/Observation/42/_history/1`: that of its Subscription, and the version."""

    id: str


class FailedSubscription(Frozen):
    """A Subscription of which a notification could not be delivered, and why."""

    id: str
    error: str


@operation(tool=False)
def read_notification(context: OperationContext[FhirState], input: NotificationId) -> dict[str, Any]:
    """Return the method, headers and body of a notification."""
    state, notification = context.state, context.state.notifications.get(input.id)
    if notification is None:
        raise refusal(404, "not-found", f"there is no notification {input.id[:140]} to send")
    subscription = state.subscriptions[notification.subscription]
    headers = parse_headers(subscription)
    if "payload" not in subscription["channel"]:
        return {"method": "POST", "headers": headers}
    versions = state.versions(f"{notification.type}/{notification.id}")
    body = next(version.data for version in versions if version.id == notification.version)
    return {"method": "PUT", "headers": {**headers, "content-type": FHIR_JSON}, "body": body or b""}


@interaction(tool=False)
def report_failure(transaction: Transaction, input: FailedSubscription) -> FhirResponse:
    """Set the status of a Subscription whose notification could not be delivered to `error`, with the reason."""
    subscription = transaction.state.subscriptions.get(input.id)
    if subscription is None:
        raise refusal(404, "not-found", f"there is no active Subscription/{input.id[:80]}")
    failed = {**subscription, "status": "error", "error": input.error}
    return FhirResponse(200, key=transaction.write(failed, RestHookDelivery.name))


class RestHookCall(OperationCall[Any, Any]):
    """A call of an operation of the delivery."""

    transport: ClassVar[str] = "rest-hook"


class RestHookDelivery(OutboundDelivery):
    """Notifies the endpoint of each Subscription that a write triggered. If that fails, its status is `error`."""

    name: ClassVar[str] = "rest-hook"
    link: ClassVar[str] = LINK
    wakes_on: ClassVar[str] = ".triggered"
    in_order: ClassVar[bool] = False

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return None: each Subscription has its own endpoint."""
        return None

    @property
    def retry(self) -> RetryPolicy:
        """Five attempts, the first retry after five seconds."""
        return RetryPolicy()

    @property
    def has_address(self) -> bool:
        """Whether a client has registered an endpoint."""
        return any(name.startswith(f"{LINK}/") for name in self.client.callbacks)

    def pending(self, state: FhirState) -> Iterable[str]:
        """Return the notifications whose endpoint is registered: in a fork none, until a client writes it again."""
        callbacks = self.client.callbacks
        return (id for id, each in state.notifications.items() if callbacks.get(f"{LINK}/{each.subscription}"))

    async def find_address(self, message_id: str) -> str:
        """Return the endpoint; with a payload it is a service base, and the resource has its own URL there."""
        subscription, _, key = message_id.partition("/")
        endpoint = self.client.callbacks.get(f"{LINK}/{subscription}", "")
        resource = await self.client.read_state(lambda state: state.subscriptions.get(subscription))
        if not endpoint or resource is None or "payload" not in resource["channel"]:
            return endpoint
        parts = urlsplit(endpoint)
        return parts._replace(path=f"{parts.path.rstrip('/')}/{key.partition('/_history/')[0]}").geturl()

    async def send(self, message_id: str, resolved: ResolvedAddress) -> None:
        """Send one notification; any 2xx response acknowledges it."""
        http = load(_HTTP)
        self.client.work()
        call = RestHookCall(read_notification, NotificationId(id=message_id), f"/{message_id}")
        reply = await self.client.call_as_run(call)
        if not reply.ok or reply.result is None:
            raise DeliveryFailed("not_sent", reply.status or None)
        response = await http.send_request(self.client, resolved, http.OutboundRequest(**reply.result))
        http.check_status(response)

    async def give_up(self, message_id: str, failure: DeliveryFailed) -> None:
        """Put the Subscription in error."""
        subscription, _, version = message_id.partition("/")
        details = (failure.outcome, f"HTTP status {failure.status}" if failure.status else "", failure.reason)
        error = f"{version}: {', '.join(each.replace('_', ' ') for each in details if each)}"
        call = RestHookCall(report_failure, FailedSubscription(id=subscription, error=error), f"/{subscription}")
        await self.client.call_as_run(call)


REST_HOOK_OPERATIONS = (read_notification, report_failure)
REST_HOOK_EXERCISE = (
    RestHookCall(read_notification, NotificationId(id="unknown")),
    RestHookCall(report_failure, FailedSubscription(id="unknown", error="unknown")),
)
