"""The checks of simulators. The first line of each docstring states what must hold."""

import base64
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, wraps
from itertools import cycle, islice
from typing import Any

import orjson

from clerkship.checks.conformance.credential_checks import a_credential_is_needed_for_every_operation
from clerkship.checks.conformance.rig import (
    WRITES,
    ExerciseRequest,
    RequestCounts,
    SimulatorRig,
    build_garbage,
    describe_request,
    prepare_domains,
    require,
    run_exercise,
    to_bytes,
)
from clerkship.playground.failure import guard
from clerkship.playground.sandbox import prepare_simulator
from clerkship.sandbox.faults.contract import Fault
from clerkship.sandbox.faults.request_faults import (
    DripFault,
    DropFault,
    DuplicateFault,
    ErrorFault,
    ExpiredFault,
    LatencyFault,
    TruncatedFault,
)
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.route import Route, find_route
from clerkship.sandbox.tools import BASE64_SUFFIX, Tool, build_tools, index_by_name
from clerkship.sandbox.websocket import WebSocketHandler, WebSocketMessage, parse_message
from clerkship.simulators.spec import Spec

HANDSHAKE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
MESSAGES: tuple[WebSocketMessage, ...] = (
    *("", "garbage", "{", "null", "5", "[]", "{}", '{"unknown": 1}', '{"text": 5}', "[" * 10_000),
    *(b"", b"{", b"[]", bytes(range(256))),
)
Check = Callable[[Spec], RequestCounts | None]
"""Raises NotConforming, or any error of the simulator. May return how many requests it sent."""
FAULTS: tuple[Fault, ...] = (
    LatencyFault(by=timedelta(seconds=5), jitter=timedelta(seconds=5), times=2),
    ErrorFault(times=1, retry_after=timedelta(seconds=5)),
    ExpiredFault(times=1, skip=1),
    DropFault(times=1),
    DropFault(times=1, when="reply"),
    DuplicateFault(times=5),
    TruncatedFault(times=1),
    DripFault(over=timedelta(seconds=5), times=1),
)
REQUESTS_OF_A_FAULT = 6
"""The number of requests of the exercise that are sent under each fault, at least: one more than a fault applies to."""
MAX_FORKS = 4
"""The number of positions in the exercise at which a fork is checked."""


class DiscardingSession:
    """An open WebSocket whose client reads nothing."""

    def send(self, message: WebSocketMessage) -> None:
        """Discard the message."""

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Do nothing."""


def send_garbage_messages(rig: SimulatorRig) -> None:
    """Open each WebSocket that the exercise opens, and send garbage.

    Raises NotConforming or SimulatorBroken.
    """
    for request in rig.exercise:
        if isinstance(request, Request) and _opens_websocket(rig, request):
            headers = {**request.headers, **HANDSHAKE}
            handler = rig.send(Request(request.method, request.path, request.query, headers)).upgrade
            if isinstance(handler, WebSocketHandler):
                _send_to(rig, handler, partial(guard, rig.playground, f"WebSocket {request.path}"))


def _opens_websocket(rig: SimulatorRig, request: Request) -> bool:
    try:
        return find_route(rig.prepared_simulators[rig.name].spec.routes, request)[0].is_upgrade
    except Refusal:
        return False


def _send_to(rig: SimulatorRig, handler: WebSocketHandler, guarded: Callable[[Callable[[], Any]], Any]) -> None:
    guarded(partial(handler.on_open, DiscardingSession()))
    for message in MESSAGES:
        before, call = rig.dump(), guarded(partial(parse_message, handler, message))
        if call is None:
            continue
        reply = rig.call(call)
        require(reply.ok or rig.dump() == before, f"the message {message[:60]!r} was refused but changed something")
        guarded(partial(handler.on_reply, reply))
    guarded(partial(handler.on_close, 1000))


class CheckContext:
    """One check of one simulator: opens playgrounds over the same datasets, and counts the requests to them."""

    def __init__(self, spec: Spec) -> None:
        self.counts = RequestCounts()
        self.prepared = prepare_simulator(spec, spec.config(), spec.prepare(spec.exercise_datasets))
        self.spec = self.prepared.spec
        self.domains = prepare_domains(spec)

    def rig(self) -> SimulatorRig:
        """Open a playground."""
        return SimulatorRig(self.spec, prepared=self.prepared, counts=self.counts, domains=self.domains)


def _check(body: Callable[[CheckContext], None]) -> Check:
    """Turn a function of a CheckContext into a check of a spec."""

    @wraps(body)
    def run(spec: Spec) -> RequestCounts:
        context = CheckContext(spec)
        body(context)
        return context.counts

    return run


@_check
def the_exercise_is_accepted(context: CheckContext) -> None:
    """The exercise starts from a dataset, if one can be loaded, and not all of its requests or writes are refused."""
    spec, counts = context.spec, context.counts
    has_datasets = spec.dataset is None or bool(spec.exercise_datasets)
    require(has_datasets, f"it is loaded from datasets of type {spec.dataset}, and its SPEC has no exercise_datasets")
    with context.rig() as rig:
        run_exercise(rig)
    require(counts.refused < counts.sent, f"all {counts.sent} requests of its exercise were refused")
    require(
        not counts.writes or counts.refused_writes < counts.writes,
        f"all {counts.writes} writes of its exercise were refused",
    )


@_check
def same_seed_gives_the_same_log(context: CheckContext) -> None:
    """Two runs of the same requests give the same log."""
    with context.rig() as first, context.rig() as second:
        run_exercise(first)
        run_exercise(second)
        require(first.lines == second.lines, "the same seed and the same requests gave two different logs")


@_check
def http_and_in_process_give_the_same_log(context: CheckContext) -> None:
    """Requests over HTTP and in process give the same replies and the same log."""
    with context.rig() as inside, context.rig() as outside:
        _send_both_ways(inside, outside, inside.exercise)
        require(inside.lines == outside.lines, "HTTP and in-process requests gave different logs")


def _send_both_ways(
    inside: SimulatorRig, outside: SimulatorRig, requests: Iterable[ExerciseRequest], fault: str = ""
) -> None:
    """Send requests in process and over HTTP, and check that the replies are the same."""
    for request in requests:
        in_process, over_http = inside.send(request, base=outside.url()), outside.send_outside(request)
        require(
            (in_process.status, in_process.body) == (over_http.status, over_http.body),
            f"{fault}{describe_request(request)}: in process {in_process.status}, over HTTP {over_http.status}",
        )


@_check
def faults_affect_http_and_in_process_alike(context: CheckContext) -> None:
    """Under faults, HTTP and in-process requests give the same replies and log, and the log rebuilds the state."""
    requests = context.spec.exercise
    size = max(math.ceil(len(requests) / len(FAULTS)), REQUESTS_OF_A_FAULT)
    remaining = cycle(requests)
    with context.rig() as inside, context.rig() as outside:
        for fault in FAULTS:
            for rig in (inside, outside):
                rig.playground.inject(fault)
            _send_both_ways(inside, outside, islice(remaining, size), f"{fault.name} on ")
        require(inside.playground.broken is None, f"the simulator failed: {inside.playground.broken}")
        require(inside.lines == outside.lines, "under faults, HTTP and in-process requests gave different logs")
        require(inside.rebuilt() == inside.dumped(), "under faults, a replay of the log gave another state")


@_check
def playgrounds_share_nothing(context: CheckContext) -> None:
    """Requests to one playground do not affect another one, open at the same time or later."""
    with context.rig() as busy, context.rig() as idle:
        before = idle.dumped()
        run_exercise(busy)
        require(idle.dumped() == before, "a playground changed because of another one's requests")
    with context.rig() as later:
        require(later.dumped() == before, "a playground started with the state of an earlier one")


@_check
def the_dataset_does_not_change(context: CheckContext) -> None:
    """Requests change a playground's own records, never the datasets that all playgrounds share."""
    base = [context.prepared.base, *(domain.base for domain in context.domains.values())]
    components = (context.spec, *context.spec.domains)
    datasets = [dataset for component in components for dataset in component.exercise_datasets]
    before = to_bytes(base), [dataset.data for dataset in datasets]
    with context.rig() as rig:
        run_exercise(rig)
    require(to_bytes(base) == before[0], "the records that `prepare` returned were changed by requests")
    require([dataset.data for dataset in datasets] == before[1], "a dataset was changed by requests")


@_check
def a_replay_rebuilds_the_state(context: CheckContext) -> None:
    """The dataset and the bytes of the log rebuild the state, byte for byte."""
    with context.rig() as rig:
        run_exercise(rig)
        require(rig.rebuilt() == rig.dumped(), "a replay of the log gave another state")


@_check
def a_fork_continues_like_the_original(context: CheckContext) -> None:
    """A playground that is rebuilt from a log in the middle of the exercise ends with the same log and state."""
    requests = context.spec.exercise
    with context.rig() as original:
        run_exercise(original)
    with context.rig() as rig:
        for number, request in enumerate(requests, 1):
            rig.send(request)
            if number % max(len(requests) // MAX_FORKS, 1) == 0:
                where = f"after {describe_request(request)[:60]} (request {number} of the exercise)"
                _check_fork(rig, requests[number:], original, where)


def _check_fork(rig: SimulatorRig, remaining: Sequence[ExerciseRequest], original: SimulatorRig, where: str) -> None:
    with rig.fork() as fork:
        for request in remaining:
            fork.send(request)
        require(fork.lines == original.lines, f"a fork {where} ended with another log")
        require(fork.dumped() == original.dumped(), f"a fork {where} ended with another state")


@_check
def garbage_is_refused(context: CheckContext) -> None:
    """Invalid requests are refused in the format of the protocol, change nothing and break nothing."""
    with context.rig() as rig:
        before = rig.dumped()
        for request in build_garbage(context.spec):
            events, replies = len(rig.playground.log.events), (rig.send(request), rig.send_http(request))
            for reply in replies:
                _check_refusal(request, reply)
            after = rig.dumped()
            if not any(reply.ok for reply in replies):
                has_changed = after != before or rig.has_effects(events)
                require(not has_changed, f"{request.method} {request.path[:60]} was refused but changed something")
            before = after
        send_garbage_messages(rig)
        require(rig.playground.broken is None, f"the simulator failed: {rig.playground.broken}")


def _check_refusal(request: Request, reply: Reply) -> None:
    require(reply.status != 500, f"{request.method} {request.path[:60]} gave a 500")
    require(b"Traceback" not in reply.body, f"{request.method} {request.path[:60]} showed a traceback")


@_check
def every_event_validates(context: CheckContext) -> None:
    """Each line of the log can be parsed to an equal event, of a kind that the simulator declares."""
    with context.rig() as rig:
        run_exercise(rig)
        rig.check_events()


@_check
def every_operation_is_exercised(context: CheckContext) -> None:
    """The exercise uses every operation."""
    with context.rig() as rig:
        run_exercise(rig)
        touched = {request[2] for request in rig.playground.sidecar.requests}
        missing = {operation.name for operation in context.spec.operations} - touched
        require(not missing, f"its exercise leaves out {', '.join(sorted(missing))}")


@_check
def an_acknowledged_write_has_an_effect(context: CheckContext) -> None:
    """Every accepted write causes an event."""
    with context.rig() as rig:
        for request in context.spec.exercise:
            events = len(rig.own_events())
            reply = rig.send(request)
            if reply.ok and isinstance(request, Request) and request.method in WRITES:
                has_event = len(rig.own_events()) > events
                require(has_event, f"{request.method} {request.path} was accepted but caused no event")


def every_operation_is_a_tool(spec: Spec) -> None:
    """Each operation is a tool with a valid name and schema, and a call of the tool reaches the operation.

    WebSockets, and operations that are declared not to be tools, are excluded.
    """
    spec = CheckContext(spec).spec
    tools = build_tools("box", spec.routes, spec.operations)
    require(len(index_by_name(tools)) == len(tools), "two operations make the same tool")
    for tool in tools:
        require(
            re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name) is not None, f"{tool.name} is not a valid name of a tool"
        )
        require(bool(tool.operation.description), f"{tool.name} does not say what it does")
        known, refs = tool.parameters["properties"], _find_refs(tool.parameters)
        require(
            set(tool.parameters["required"]) <= known.keys(),
            f"{tool.name} requires a parameter that it does not describe",
        )
        require(refs <= tool.parameters.get("$defs", {}).keys(), f"{tool.name}: its schema has an unresolved reference")
        orjson.dumps(tool.parameters)
    for request in spec.exercise:
        if isinstance(request, Request):
            _check_tool_request(spec, tools, request)


def _find_refs(schema: object) -> set[str]:
    """Return the names that a schema refers to."""
    if isinstance(schema, dict):
        own = {schema["$ref"].removeprefix("#/$defs/")} if isinstance(schema.get("$ref"), str) else set()
        return own.union(*map(_find_refs, schema.values()))
    return set().union(*map(_find_refs, schema)) if isinstance(schema, list) else set()


def _check_tool_request(spec: Spec, tools: Sequence[Tool], request: Request) -> None:
    """Check that a tool call makes the same request as the exercise, as far as the route declares its parameters."""
    try:
        route, params = find_route(spec.routes, request)
    except Refusal:
        return  # an exercise may request an unknown route
    if not route.is_tool:
        return
    arguments = _build_arguments(route, params, request)
    if arguments is None:
        return
    [tool] = [tool for tool in tools if tool.route is route]
    if any(name not in arguments for name in tool.parameters["required"]):
        return  # an exercise may omit required parameters, to test the refusal
    called = tool.build_request(arguments)
    require((called.method, called.path) == (request.method, request.path), f"{tool.name} makes another request")
    if route.body and route.body_type is not object:
        require(called.body == request.body, f"{tool.name} sends another body")
    elif route.body or route.json_fields:
        require(orjson.loads(called.body) == orjson.loads(request.body), f"{tool.name} sends another body")


def _build_arguments(route: Route, params: Mapping[str, str], request: Request) -> dict[str, object] | None:
    """Return the arguments of a tool call for this request; None if its body is not valid input."""
    arguments: dict[str, object] = {**params}
    arguments |= {name: request.query[name] for name in route.query if name in request.query}
    if route.body and route.body_type is bytes and f"{route.body}{BASE64_SUFFIX}" in _tool_fields(route):
        return arguments | {f"{route.body}{BASE64_SUFFIX}": base64.b64encode(request.body).decode()}
    if route.body and route.body_type is not object:
        return arguments | {route.body: request.body.decode(errors="replace")}
    try:
        content = orjson.loads(request.body) if route.body or route.json_fields else {}
    except orjson.JSONDecodeError:
        return None
    if route.body:
        return arguments | {route.body: content}
    return arguments | content if isinstance(content, dict) else None


def _tool_fields(route: Route) -> Mapping[str, object]:
    [tool] = build_tools("box", (route,))
    fields: Mapping[str, object] = tool.parameters["properties"]
    return fields


CHECKS: tuple[Check, ...] = (
    the_exercise_is_accepted,
    same_seed_gives_the_same_log,
    http_and_in_process_give_the_same_log,
    faults_affect_http_and_in_process_alike,
    playgrounds_share_nothing,
    the_dataset_does_not_change,
    a_replay_rebuilds_the_state,
    a_fork_continues_like_the_original,
    garbage_is_refused,
    every_event_validates,
    every_operation_is_exercised,
    an_acknowledged_write_has_an_effect,
    a_credential_is_needed_for_every_operation,
    every_operation_is_a_tool,
)


@dataclass(frozen=True)
class ConformanceReport:
    """How many requests each check sent to a simulator that conforms, by name of the check."""

    kind: str
    checks: Mapping[str, RequestCounts]

    @property
    def requests(self) -> RequestCounts:
        """The requests of all checks together."""
        return sum(self.checks.values(), RequestCounts())

    def __str__(self) -> str:
        lines = [f"  {name}: {counts}" for name, counts in self.checks.items()]
        return "\n".join([f"{self.kind} passed {len(self.checks)} checks: {self.requests}", *lines])


def check_simulator(spec: Spec, checks: Sequence[Check] = CHECKS) -> ConformanceReport:
    """Run all checks and return a report; raise NotConforming at the first check that fails."""
    return ConformanceReport(spec.kind, {check.__name__: check(spec) or RequestCounts() for check in checks})
