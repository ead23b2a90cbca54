"""Call the agent's services: discovery, hooks and feedback, one at a time."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, cast
from urllib.parse import quote

from clerkship.formats.cds_hooks.wire_model import DISCOVERY_PATH, CdsService, FhirAuthorization, HookRequest
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import Operation, OperationCall
from clerkship.simulators.cds import operations as ops
from clerkship.simulators.cds.config import CdsConfig
from clerkship.simulators.cds.events import FailureReason
from clerkship.simulators.cds.records import PreparedCall
from clerkship.simulators.cds.state import CdsState
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundDelivery
from clerkship.transports.outbound.http import HttpLimits, HttpResponse, OutboundRequest, json_request, send_request
from clerkship.transports.outbound.policy import OutboundRefused, ResolvedAddress
from clerkship.transports.outbound.retry import RetryPolicy

MISSING_PREFETCH = 412
OK = 200
_ACCEPT = {"accept": "application/json"}
_REASONS: dict[str, FailureReason] = {
    "response_too_large": "too_large",
    "redirect_not_followed": "redirected",
    "redirect_without_tls": "redirected",
    "too_many_redirects": "redirected",
    "bad_redirect": "redirected",
}


class CdsCall(OperationCall[Any, Any]):
    """A call that reports what happened when a service was called. Agents cannot make it."""

    transport: ClassVar[str] = ops.PROTOCOL


class CdsDelivery(OutboundDelivery):
    """Calls the services of the agent. A call is never repeated: the clinician does not wait."""

    name: ClassVar[str] = "cds"
    link: ClassVar[str] = ops.LINK
    wakes_on: ClassVar[tuple[str, ...]] = (
        *("cds.services.registered", "cds.services.discovered"),
        *("cds.hook.triggered", "cds.card.decided"),
    )

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        return cast(CdsConfig, config).url

    @property
    def retry(self) -> RetryPolicy:
        """One attempt."""
        return RetryPolicy(attempts=1)

    @property
    def limits(self) -> HttpLimits:
        """The time and size limits of the config."""
        config = cast(CdsConfig, self.client.config)
        return HttpLimits(config.time_limit.total_seconds(), holds_clock=True, max_body=config.max_response)

    def pending(self, state: CdsState) -> Iterable[str]:
        """Return the outbound work of the state."""
        return state.list_pending()

    async def send(self, message_id: str, resolved: ResolvedAddress) -> None:
        """Make one call: discovery, a hook, or feedback."""
        self.client.work()
        sort, _, id = message_id.partition("/")
        if sort == "discover":
            await self._discover(resolved)
        elif sort == "call":
            await self._call_service(id, resolved)
        else:
            await self._send_feedback(id, resolved)

    async def _discover(self, resolved: ResolvedAddress) -> None:
        request = OutboundRequest("GET", _ACCEPT)
        try:
            response = await self._request(resolved, DISCOVERY_PATH, request)
        except (DeliveryFailed, OutboundRefused, OSError, EOFError) as error:
            failure = ops.DiscoveryFailure(reason=find_reason(error), status=getattr(error, "status", None))
            await self.client.call_as_run(CdsCall(ops.report_discovery_failure, failure))
            raise
        answer = ops.DiscoveryAnswer(body=response.body)
        await self.client.call(CdsCall(ops.report_discovery, answer, body=response.body))

    async def _call_service(self, id: str, resolved: ResolvedAddress) -> None:
        service = await self._find_service(id)
        prepared = await self._prepare(ops.prepare_call, id)
        request = await self._authorize(prepared)
        try:
            response = await self._request(resolved, _quote_path(service), json_request(request.to_wire(), _ACCEPT))
        except (DeliveryFailed, OutboundRefused, OSError, EOFError) as error:
            failure = ops.CallFailure(id=id, reason=find_reason(error), status=getattr(error, "status", None))
            await self.client.call_as_run(CdsCall(ops.report_failure, failure, f"/{id}"))
            raise
        answer = ops.ServiceAnswer(id=id, status=response.status, body=response.body)
        await self.client.call(CdsCall(ops.report_answer, answer, f"/{id}", response.body))
        await self.client.call_as_run(CdsCall(ops.decide_cards, ops.CallId(id=id), f"/{id}"))

    async def _authorize(self, call: PreparedCall) -> HookRequest:
        """Add an access token for the chart to a request (specification: FHIR resource access). It is never logged."""
        config = cast(CdsConfig, self.client.config)
        if not call.chart or not config.scopes:
            return call.request
        access = await self.client.grant_access(call.chart, config.scopes, call.patient, config.token_lifetime)
        authorization = FhirAuthorization(
            access_token=access.token,
            expires_in=access.expires_in,
            scope=access.scope,
            subject=call.service,
            patient=call.patient or None,
        )
        return call.request.model_copy(update={"fhir_server": access.url, "fhir_authorization": authorization})

    async def _send_feedback(self, id: str, resolved: ResolvedAddress) -> None:
        service = await self._find_service(id)
        feedback = await self._prepare(ops.prepare_feedback, id)
        status: int | None = None
        try:
            path = f"{_quote_path(service)}/feedback"
            status = (await self._request(resolved, path, json_request(feedback), is_json=False)).status
        except DeliveryFailed as error:
            status = error.status
            raise
        finally:
            is_delivered = status is not None and OK <= status < 300
            result = ops.FeedbackResult(id=id, delivered=is_delivered, status=status)
            await self.client.call_as_run(CdsCall(ops.report_feedback, result, f"/{id}"))

    async def _prepare(self, operation: Operation[Any, Any], id: str) -> Any:
        """Return what an operation builds for a call; raise DeliveryFailed if a fault keeps it in the sandbox."""
        reply = await self.client.call_as_run(CdsCall(operation, ops.CallId(id=id), f"/{id}"))
        if not reply.ok:
            raise DeliveryFailed("not_sent", reply.status or None, is_final=True)
        return reply.result

    async def _find_service(self, id: str) -> CdsService:
        return await self.client.read_state(lambda state: cast(CdsState, state).find_call(id).service)

    async def _request(
        self, resolved: ResolvedAddress, path: str, request: OutboundRequest, *, is_json: bool = True
    ) -> HttpResponse:
        """Send a request below the base URL. Raise DeliveryFailed unless the answer is JSON with a status of 200.

        Each request has a JWT for the URL that is called (specification: trusting CDS clients).
        """
        target = resolved.address.target.rstrip("/") + path
        service = replace(resolved, address=replace(resolved.address, target=target))
        token = await self.client.sign_jwt(service.address.url)
        request = replace(request, headers={**request.headers, "authorization": f"Bearer {token}"})
        with self.measure():
            response = await send_request(self.client, service, request, self.limits)
        if not OK <= response.status < 300 or (is_json and response.status != OK):
            raise DeliveryFailed("rejected", response.status, is_final=True)
        if is_json and not _is_json(response.headers.get("content-type", "")):
            raise DeliveryFailed("rejected", response.status, "wrong_content_type", is_final=True)
        return response


def find_reason(error: BaseException) -> FailureReason:
    """Return why a call failed, from the exception."""
    if isinstance(error, OutboundRefused):
        return "refused_by_policy"
    if isinstance(error, TimeoutError):
        return "timed_out"
    if not isinstance(error, DeliveryFailed):
        return "not_reached"
    if error.reason == "wrong_content_type":
        return "wrong_content_type"
    if error.reason in _REASONS:
        return _REASONS[error.reason]
    if error.outcome == "rejected":
        return "missing_prefetch" if error.status == MISSING_PREFETCH else "status"
    return "timed_out" if error.outcome == "timed_out" else "not_reached"


def _quote_path(service: CdsService) -> str:
    return f"{DISCOVERY_PATH}/{quote(service.id, safe='')}"


def _is_json(media: str) -> bool:
    """Return whether a media type is JSON."""
    essence = media.partition(";")[0].strip().lower()
    return essence == "application/json" or (essence.startswith("application/") and essence.endswith("+json"))
