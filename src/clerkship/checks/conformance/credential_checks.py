"""Check what requests without a valid credential get, for every operation of a simulator."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import orjson

from clerkship.checks.conformance.rig import SimulatorRig, require
from clerkship.playground.listeners import RunningListener
from clerkship.sandbox.authentication.bearer import BearerToken, ScopedBearerToken
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import select_http_schemes
from clerkship.sandbox.operation import Operation, OperationCall
from clerkship.sandbox.request import REDIRECTS, Refusal, Reply, Request
from clerkship.sandbox.route import Route, find_route
from clerkship.simulators.spec import Spec

NEIGHBOUR = "neighbour"
"""A second sandbox in the playground."""
ALL_SCOPES = "user/*.read"
UNKNOWN_ADDRESS = "C0000000000000000000"


def a_credential_is_needed_for_every_operation(spec: Spec) -> None:
    """Only open operations work without a valid credential; refusals leave no trace in the log.

    A credential that is wrong, of another sandbox or of an ended run is not valid. Refusals are in the format of the
    protocol.
    """
    requests = dict(_requests_by_route(spec))
    with SimulatorRig(spec, others=(NEIGHBOUR,)) as rig, SimulatorRig(spec) as other:
        before = rig.dumped(), len(rig.lines), rig.playground.now
        for route, request in requests.items():
            for headers in _wrong_headers(rig, other, request):
                _check_refused(rig, route, request, headers)
        _check_listeners(rig, other)
        after = rig.dumped(), len(rig.lines), rig.playground.now
        require(after == before, "requests without a valid credential changed the state, the log or the clock")
        headers_by_route = {route: rig.authorize(request) for route, request in requests.items()}
        rig.playground.close()
        for route, request in requests.items():
            for reply in (rig.send(request), rig.send_http(request, headers_by_route[route])):
                _check_refusal_format(route.refuse or spec.refuse, request, reply)
        _check_listeners(rig, other, has_ended=True)


def _requests_by_route(spec: Spec) -> Iterator[tuple[Route, Request]]:
    """Yield each route that the exercise uses, with a request for it."""
    for request in spec.exercise:
        if not isinstance(request, Request):
            continue
        try:
            route, _ = find_route(spec.routes, request)
        except Refusal:
            continue
        yield route, request


def _wrong_headers(rig: SimulatorRig, other: SimulatorRig, request: Request) -> Iterator[Mapping[str, str]]:
    """Yield the headers of clients without a valid credential."""
    yield {}
    sandbox, clock = rig.playground.sandboxes[rig.name], rig.playground.clock
    schemes = select_http_schemes(sandbox.spec.authentication)
    invalid = SandboxCredentials(sandbox.name, sandbox.prepared.config)
    neighbour, unrelated = rig.playground.sandboxes[NEIGHBOUR], other.playground.sandboxes[other.name]
    for scheme in schemes:
        for credentials in (invalid, neighbour.credentials, unrelated.credentials):
            yield scheme.authorize(request, credentials, clock)
    if any(isinstance(scheme, ScopedBearerToken) for scheme in schemes):
        yield from _wrong_access_tokens(sandbox.credentials, neighbour.credentials, unrelated.credentials)
    if not any(isinstance(scheme, BearerToken) for scheme in schemes):  # the right token, in a scheme it does not take
        yield BearerToken().authorize(request, sandbox.credentials, clock)


def _wrong_access_tokens(own: SandboxCredentials, *others: SandboxCredentials) -> Iterator[Mapping[str, str]]:
    """Yield access tokens with scopes that have expired, or that were issued for other sandboxes."""
    expired, _ = own.grant([ALL_SCOPES], "", -timedelta(seconds=1))
    for token in (expired, *(other.grant([ALL_SCOPES], "", timedelta(hours=1))[0] for other in others)):
        yield {"authorization": f"Bearer {token}"}


def _check_refused(rig: SimulatorRig, route: Route, request: Request, headers: Mapping[str, str]) -> None:
    sent = Request(request.method, request.path, request.query, {**request.headers, **headers}, request.body)
    for reply in (rig.send(sent, token=""), rig.send_http(request, headers)):
        if route.operation.access == "open":
            title = f"{request.method} {request.path}"
            require(reply.ok, f"{title} is open, and answers {reply.status} to a client without a credential")
        else:
            _check_refusal_format(route.refuse or rig.prepared_simulators[rig.name].spec.refuse, request, reply)


def _check_refusal_format(refuse: Callable[[Refusal], Reply], request: Request, reply: Reply) -> None:
    """Check that a reply is a 401 with the media type and the top-level keys of the simulator's own refusals.

    The pages of a website may redirect to the page to sign in instead.
    """
    title, names = f"{request.method} {request.path}", {name.lower() for name in reply.headers}
    own = refuse(Refusal(401, "unauthorized", "no"))
    if own.status in REDIRECTS:
        is_sign_in = reply.status == own.status and "location" in names
        require(is_sign_in, f"{title} without a valid credential got a {reply.status}, not a redirect")
        return
    require(reply.status == 401, f"{title} without a valid credential got a {reply.status}")
    require("www-authenticate" in names, f"{title}: the 401 has no WWW-Authenticate")
    has_format = reply.media == own.media
    if has_format and own.media.partition(";")[0].endswith("json") and request.method != "HEAD":
        has_format = set(orjson.loads(reply.body)) == set(orjson.loads(own.body))
    require(has_format, f"{title}: the 401 is not in the format of the protocol")


class _ListenerCall(OperationCall[Any, Any]):
    transport = "conformance"


def _check_listeners(rig: SimulatorRig, other: SimulatorRig, *, has_ended: bool = False) -> None:
    """Check that listeners find no sandbox by a wrong address, and that their calls need the token of the sandbox."""
    spec, own_address = rig.prepared_simulators[rig.name].spec, rig.locate()
    for listener_type in spec.listeners:
        listener = RunningListener(rig.gateway, spec.kind, listener_type)
        for address in ("", UNKNOWN_ADDRESS, other.locate(), *([own_address] if has_ended else [])):
            require(listener.find(address) is None, f"{listener_type.name} finds a sandbox by the address {address!r}")
    for operation in spec.operations if spec.listeners else ():
        _check_token(rig, other, operation)


def _check_token(rig: SimulatorRig, other: SimulatorRig, operation: Operation[Any, Any]) -> None:
    if operation.access != "agent":
        return
    for token in ("", "wrong", rig.playground.sandboxes[NEIGHBOUR].token, other.token):
        reply = rig.call(_ListenerCall(operation, None), token)
        require(reply.status == 401, f"{operation.name} of a listener with a wrong token got a {reply.status}")
