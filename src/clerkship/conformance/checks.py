"""The checks, each a sentence about a simulator that must be true."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

import orjson

from clerkship.conformance.rig import Rig, exercise, garbage
from clerkship.events.event import parse_event
from clerkship.events.lifecycle import LIFECYCLE
from clerkship.faults.contract import Fault
from clerkship.faults.drip import Drip
from clerkship.faults.drop import Drop
from clerkship.faults.duplicate import Duplicate
from clerkship.faults.error import Error
from clerkship.faults.expired import Expired
from clerkship.faults.latency import Latency
from clerkship.faults.truncated import Truncated
from clerkship.playground.playground import replay
from clerkship.sandbox.exchange import Refusal, Reply, Request
from clerkship.sandbox.route import Route, find_route
from clerkship.sandbox.tools import BASE64, Tool, table, tools_of
from clerkship.simulators.spec import Spec

Check = Callable[[Spec], None]
FAULTS: tuple[Fault, ...] = (
    Latency(by=timedelta(seconds=5), jitter=timedelta(seconds=5), times=2),
    Error(times=1, retry_after=timedelta(seconds=5)),
    Expired(times=1, skip=1),
    Drop(times=1),
    Drop(times=1, when="reply"),
    Duplicate(times=5),
    Truncated(times=1),
    Drip(over=timedelta(seconds=5), times=1),
)


class NotConforming(AssertionError):
    """A simulator does not do what every simulator must."""


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotConforming(otherwise)


def same_seed_gives_the_same_log(spec: Spec) -> None:
    """Two runs of the same requests differ in nothing."""
    with Rig(spec) as one, Rig(spec) as other:
        exercise(one)
        exercise(other)
        _must(one.lines == other.lines, "the same seed and the same requests gave two different logs")


def both_doors_lead_to_the_same_log(spec: Spec) -> None:
    """HTTP and in-process differ in nothing, replies included, where they are said to be at the same address."""
    with Rig(spec) as inside, Rig(spec) as outside:
        for request in spec.exercise:
            near, far = inside.send(request, base=outside.url()), outside.send_http(request)
            _must(
                (near.status, near.body) == (far.status, far.body),
                f"{request.method} {request.path}: in process {near.status}, over HTTP {far.status}",
            )
        _must(inside.lines == outside.lines, "the two doors gave two different logs")


def faults_strike_both_doors_alike(spec: Spec) -> None:
    """Whatever is in the way, both doors show it, the log is the same, and the state is what the log says."""
    with Rig(spec) as inside, Rig(spec) as outside:
        for fault in FAULTS:
            for rig in (inside, outside):
                rig.playground.inject(fault)
            for request in spec.exercise:
                near, far = inside.send(request, base=outside.url()), outside.send_http(request)
                _must(
                    (near.status, near.body) == (far.status, far.body),
                    f"{fault.name} on {request.method} {request.path}: in process {near.status}, HTTP {far.status}",
                )
        _must(inside.playground.broken is None, f"it broke: {inside.playground.broken}")
        _must(inside.lines == outside.lines, "under faults the two doors gave two different logs")
        rebuilt = replay(inside.rooms, inside.playground.log.events)[inside.name].dump()
        _must(rebuilt == inside.dump(), "under faults the log, replayed, gave another state")


def playgrounds_share_nothing(spec: Spec) -> None:
    """What happens in one playground is not seen in another."""
    with Rig(spec) as busy, Rig(spec) as idle:
        before = idle.dump()
        exercise(busy)
        _must(idle.dump() == before, "a playground changed because of another one's requests")


def a_replay_rebuilds_the_state(spec: Spec) -> None:
    """Dataset and events give the state, exactly."""
    with Rig(spec) as rig:
        exercise(rig)
        rebuilt = replay(rig.rooms, rig.playground.log.events)[rig.name].dump()
        _must(rebuilt == rig.dump(), "the log, replayed, gave another state")


def garbage_is_refused_in_order(spec: Spec) -> None:
    """Nonsense gets a refusal of the protocol, through either door; nothing breaks and nothing is half done."""
    with Rig(spec) as rig:
        for request in garbage(spec):
            before, events = rig.dump(), len(rig.own_events())
            for reply in (rig.send(request), rig.send_http(request)):
                _refused_cleanly(request, reply)
                if not reply.ok:
                    unchanged = rig.dump() == before and len(rig.own_events()) == events
                    _must(unchanged, f"{request.method} {request.path[:60]} was refused and still did something")
                before, events = rig.dump(), len(rig.own_events())
        _must(rig.playground.broken is None, f"it broke: {rig.playground.broken}")


def _refused_cleanly(request: Request, reply: Reply) -> None:
    _must(reply.status != 500, f"{request.method} {request.path[:60]} gave a 500")
    _must(b"Traceback" not in reply.body, f"{request.method} {request.path[:60]} showed a traceback")


def every_event_validates(spec: Spec) -> None:
    """Each line of the log reads back as the event it was, of a kind the simulator declares."""
    kinds = {event.kind: event for event in (*LIFECYCLE, *spec.events)}
    with Rig(spec) as rig:
        exercise(rig)
        log = rig.playground.log
        for event, line in zip(log.events, log.lines, strict=True):
            _must(event.kind in kinds, f"it emits {event.kind}, which its SPEC does not declare")
            again = parse_event(line, kinds, log.blobs.__getitem__)
            _must(again == event, f"#{event.seq} {event.kind} does not survive its own bytes")


def every_operation_is_exercised(spec: Spec) -> None:
    """The exercise touches every route."""
    with Rig(spec) as rig:
        exercise(rig)
        touched = {touch[2] for touch in rig.playground.sidecar.touches}
        missing = {operation.name for operation in spec.operations} - touched
        _must(not missing, f"its exercise leaves out {', '.join(sorted(missing))}")


def an_acknowledged_write_has_an_effect(spec: Spec) -> None:
    """No simulator says yes to a write it does not apply."""
    with Rig(spec) as rig:
        for request in spec.exercise:
            events = len(rig.own_events())
            reply = rig.send(request)
            if reply.ok and request.method in ("POST", "PUT", "PATCH", "DELETE"):
                left = len(rig.own_events()) > events
                _must(left, f"{request.method} {request.path} was acknowledged and left no event")


def strangers_stay_outside(spec: Spec) -> None:
    """A wrong token, or another playground's, opens nothing and writes nothing; nor does any after the end."""
    with Rig(spec) as rig, Rig(spec) as other:
        request, events = spec.exercise[0], len(rig.playground.log.events)
        for token in ("", "wrong", other.token):
            for reply in (rig.send(request, token=token), rig.send_http(request, token=token)):
                _must(reply.status == 401, f"the token {token[:8]!r} got a {reply.status}")
                _must(_in_its_words(spec, reply), "a stranger is not refused in the words of the protocol")
        _must(len(rig.playground.log.events) == events, "a stranger's request is in the log")
        rig.playground.close()
        for reply in (rig.send(request), rig.send_http(request)):
            _must(reply.status == 401, f"after the end a request got a {reply.status}")
            _must(_in_its_words(spec, reply), "after the end nobody is refused in the words of the protocol")


def _in_its_words(spec: Spec, reply: Reply) -> bool:
    """Whether a refusal is of the media, and of the outermost shape, that the simulator gives its own."""
    own = spec.refuse(Refusal(reply.status, "unauthorized", "no"))
    if reply.media != own.media or own.media.partition(";")[0].rpartition("/")[2].rpartition("+")[2] != "json":
        return reply.media == own.media
    return set(orjson.loads(reply.body)) == set(orjson.loads(own.body))


def every_operation_is_a_tool(spec: Spec) -> None:
    """A model can be given each operation, by a name and a schema it may have, and its call reaches that operation.

    One whose route says that it is no tool is left out; what is to be done by a model needs another then.
    """
    tools = tools_of("box", spec.routes)
    _must(len(table(tools)) == len(tools), "two operations make the same tool")
    for tool in tools:
        _must(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name) is not None, f"{tool.name} cannot be a tool's name")
        _must(bool(tool.route.operation.description), f"{tool.name} does not say what it does")
        known, refs = tool.parameters["properties"], _refs(tool.parameters)
        _must(set(tool.parameters["required"]) <= known.keys(), f"{tool.name} requires what it does not describe")
        _must(refs <= tool.parameters.get("$defs", {}).keys(), f"{tool.name}: its schema refers to what is not in it")
        orjson.dumps(tool.parameters)
    for request in spec.exercise:
        _reached_by_tool(spec, tools, request)


def _refs(schema: object) -> set[str]:
    """The names a schema refers to."""
    if isinstance(schema, dict):
        own = {schema["$ref"].removeprefix("#/$defs/")} if isinstance(schema.get("$ref"), str) else set()
        return own.union(*map(_refs, schema.values()))
    return set().union(*map(_refs, schema)) if isinstance(schema, list) else set()


def _reached_by_tool(spec: Spec, tools: Sequence[Tool], request: Request) -> None:
    """What the exercise asks, asked by a tool, is the same request; as far as the route says what it takes."""
    try:
        route, params = find_route(spec.routes, request)
    except Refusal:
        return  # an exercise may knock at a wrong door
    if not route.operation.tool:
        return
    arguments = _arguments(route, params, request)
    if arguments is None:
        return
    [tool] = [tool for tool in tools if tool.route is route]
    called = tool.request(arguments)
    _must((called.method, called.path) == (request.method, request.path), f"{tool.name} makes another request")
    if route.body and route.body_type is not object:
        _must(called.body == request.body, f"{tool.name} sends another body")
    elif route.body or route.json_fields:
        _must(orjson.loads(called.body) == orjson.loads(request.body), f"{tool.name} sends another body")


def _arguments(route: Route, params: Mapping[str, str], request: Request) -> dict[str, object] | None:
    """Return what a model would give a tool for this request; None where its body is not meant to be taken."""
    arguments: dict[str, object] = {**params}
    arguments |= {name: request.query[name] for name in route.query if name in request.query}
    if route.body and route.body_type is bytes and f"{route.body}{BASE64}" in _fields(route):
        return arguments | {f"{route.body}{BASE64}": base64.b64encode(request.body).decode()}
    if route.body and route.body_type is not object:
        return arguments | {route.body: request.body.decode(errors="replace")}
    try:
        content = orjson.loads(request.body) if route.body or route.json_fields else {}
    except orjson.JSONDecodeError:
        return None
    if route.body:
        return arguments | {route.body: content}
    return arguments | content if isinstance(content, dict) else None


def _fields(route: Route) -> Mapping[str, object]:
    [tool] = tools_of("box", (route,))
    fields: Mapping[str, object] = tool.parameters["properties"]
    return fields


CHECKS: tuple[Check, ...] = (
    same_seed_gives_the_same_log,
    both_doors_lead_to_the_same_log,
    faults_strike_both_doors_alike,
    playgrounds_share_nothing,
    a_replay_rebuilds_the_state,
    garbage_is_refused_in_order,
    every_event_validates,
    every_operation_is_exercised,
    an_acknowledged_write_has_an_effect,
    strangers_stay_outside,
    every_operation_is_a_tool,
)


def check_simulator(spec: Spec, checks: Sequence[Check] = CHECKS) -> None:
    """Run them all; raises NotConforming at the first that is not true."""
    for check in checks:
        check(spec)
