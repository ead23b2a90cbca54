"""All registered simulators pass the conformance suite, and each check finds its violation."""

from contextlib import nullcontext
from typing import Any, ClassVar

import orjson
import pytest

from clerkship.checks.conformance import CHECKS
from clerkship.checks.conformance.checks import (
    Check,
    a_fork_continues_like_the_original,
    a_replay_rebuilds_the_state,
    check_simulator,
    every_operation_is_a_tool,
    garbage_is_refused,
    playgrounds_share_nothing,
    the_dataset_does_not_change,
    the_exercise_is_accepted,
)
from clerkship.checks.conformance.credential_checks import a_credential_is_needed_for_every_operation
from clerkship.checks.conformance.rig import NotConforming
from clerkship.events.event import EffectType, Payload
from clerkship.kit.clock import Clock
from clerkship.model.frozen import Frozen
from clerkship.playground.failure import SimulatorBroken
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Reply, Request, json_reply
from clerkship.sandbox.route import Route
from clerkship.sandbox.state import ActionContext, State
from clerkship.sandbox.websocket import WebSocketCall, WebSocketHandler, WebSocketMessage
from clerkship.simulators import files
from clerkship.simulators.files.http import ROUTES
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.registry import KINDS, BrokenSimulator, KindEntry, load_simulators
from clerkship.simulators.spec import Spec
from clerkship.transports.websocket_handshake import websocket_route
from tests.playground.tickets import (
    EXERCISE,
    ChangesBase,
    ChangesNestedRecordInPlace,
    ChangesPayload,
    ChangesRecordInPlace,
    TicketClosed,
    TicketsState,
    close_ticket,
    list_tickets,
    tickets,
)
from tests.playground.tickets import ROUTES as TICKET_ROUTES
from tests.raw_routes import RawCall, raw_route


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", [kind.spec for kind in KINDS], ids=lambda spec: spec.kind)
def test_a_simulator_conforms(spec: Spec, check: Check) -> None:
    check(spec)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_names_of_a_kind_are_those_of_its_spec(kind: KindEntry) -> None:
    assert kind == KindEntry.from_spec(kind.spec)


def _changed(**changes: object) -> Spec:
    return Spec(**{**vars(files.SPEC), **changes})


def test_the_suite_catches_a_write_that_is_acknowledged_and_not_applied() -> None:
    def pretend(call: RawCall) -> Reply:
        return json_reply(201, {"status": "executed successfully"})

    routes = tuple(
        raw_route("PUT", "/files/{path*}", "write_file", pretend) if r.operation.name == "write_file" else r
        for r in ROUTES
    )
    with pytest.raises(NotConforming, match="accepted but caused no event"):
        check_simulator(_changed(routes=routes))


def test_the_suite_catches_a_failing_route() -> None:
    def breaks(call: RawCall) -> Reply:
        raise KeyError("oops")

    routes = (*ROUTES[1:], raw_route("GET", "/files", "list_files", breaks))
    with pytest.raises(Exception, match="oops"):
        check_simulator(_changed(routes=routes))


def test_the_suite_catches_an_incomplete_exercise() -> None:
    with pytest.raises(NotConforming, match="leaves out"):
        check_simulator(_changed(exercise=(Request("GET", "/files"),)))


class TextFile(Frozen):
    """A file with text only."""

    path: str
    text: str


@operation(name="write_file")
def write_text(context: OperationContext[FilesState], file: TextFile) -> None:
    """Write a file."""


def test_the_suite_catches_an_operation_that_a_model_could_not_call() -> None:
    def nameless(call: RawCall) -> Reply:
        return json_reply(200, {"files": []})

    nameless.__doc__ = None
    routes: tuple[Route, ...] = (raw_route("GET", "/files", "list_files", nameless), *ROUTES[1:])
    with pytest.raises(NotConforming, match="box__list_files does not say what it does"):
        every_operation_is_a_tool(_changed(routes=routes))
    routes = tuple(
        Route("PUT", route.path, write_text, body="text") if route.operation.name == "write_file" else route
        for route in ROUTES
    )
    with pytest.raises(NotConforming, match="box__write_file sends another body"):
        every_operation_is_a_tool(_changed(routes=routes))


class CloseByMessage(WebSocketHandler):
    """Each message is the id of a ticket to close."""

    def on_message(self, message: WebSocketMessage) -> WebSocketCall[Any, Any]:
        return WebSocketCall(close_ticket, orjson.loads(message))


class DividesByLength(CloseByMessage):
    """Fails if a message is empty."""

    def on_message(self, message: WebSocketMessage) -> WebSocketCall[Any, Any]:
        return WebSocketCall(close_ticket, {"id": str(1 / len(message))})


def tickets_over_websocket(handler: type[WebSocketHandler]) -> Spec:
    @operation()
    def open_live(context: OperationContext[TicketsState], input: NoInput) -> WebSocketHandler:
        """Open a WebSocket."""
        return handler()

    return tickets(
        operations=(list_tickets, close_ticket, open_live),
        routes=(*TICKET_ROUTES, websocket_route("/live", open_live)),
        exercise=(*EXERCISE, Request("GET", "/live")),
    )


def test_a_simulator_with_a_websocket_conforms() -> None:
    check_simulator(tickets_over_websocket(CloseByMessage))


def test_the_suite_sends_garbage_over_websockets() -> None:
    with pytest.raises(SimulatorBroken, match="ZeroDivisionError"):
        garbage_is_refused(tickets_over_websocket(DividesByLength))


def test_registry_refuses_duplicate_kinds_and_invalid_specs() -> None:
    with pytest.raises(Exception, match="two simulators are called `files`"):
        load_simulators([files.SPEC, files.SPEC])
    with pytest.raises(BrokenSimulator, match=r"does not start with `other\."):
        load_simulators([_changed(kind="other")])
    with pytest.raises(BrokenSimulator, match="`exercise` is empty"):
        load_simulators([_changed(exercise=())])


def test_a_report_says_how_many_requests_were_sent_and_refused() -> None:
    report = check_simulator(tickets(), [the_exercise_is_accepted, every_operation_is_a_tool])
    assert str(report) == (
        "tickets passed 2 checks: 3 requests sent, 1 refused\n"
        "  the_exercise_is_accepted: 3 requests sent, 1 refused\n"
        "  every_operation_is_a_tool: 0 requests sent, 0 refused"
    )
    assert (report.requests.writes, report.requests.refused_writes) == (2, 1)


def test_a_simulator_with_a_dataset_conforms() -> None:
    assert check_simulator(tickets()).checks.keys() == {check.__name__ for check in CHECKS}


@pytest.mark.parametrize("leaky", [ChangesRecordInPlace, ChangesNestedRecordInPlace, ChangesPayload])
def test_the_suite_catches_a_change_in_place(leaky: type[State[Any]]) -> None:
    with pytest.raises(SimulatorBroken, match="cannot be changed in place"):
        check_simulator(tickets(state=leaky))


def test_the_suite_catches_a_simulator_that_changes_the_base() -> None:
    spec = tickets(state=ChangesBase)
    with pytest.raises(NotConforming, match="changed because of another one's requests"):
        playgrounds_share_nothing(spec)
    with pytest.raises(NotConforming, match="the records that `prepare` returned were changed"):
        the_dataset_does_not_change(spec)


class SharesGlobal(TicketsState):
    """Counts closed tickets for all playgrounds together."""

    closed: tuple[str, ...] = ()

    def change(self, closed: TicketClosed) -> None:
        SharesGlobal.closed += (closed.id,)

    def dump(self) -> object:
        return self.closed


def test_the_suite_catches_state_that_is_kept_on_the_class() -> None:
    with pytest.raises(NotConforming, match="changed because of another one's requests"):
        playgrounds_share_nothing(tickets(state=SharesGlobal))


class KeepsWhatIsNotInTheLog(TicketsState):
    """Changes its state without an event."""

    def close(self, action: ActionContext, id: str) -> None:
        super().close(action, id)
        self.records[id] = {"by": action.actor, **self.records[id]}


def test_the_suite_catches_a_state_that_the_log_does_not_rebuild() -> None:
    spec = tickets(state=KeepsWhatIsNotInTheLog)
    with pytest.raises(NotConforming, match="a replay of the log gave another state"):
        a_replay_rebuilds_the_state(spec)
    with pytest.raises(NotConforming, match=r"a fork after POST /tickets/1/close .* ended with another state"):
        a_fork_continues_like_the_original(spec)


class ReordersKeys(TicketsState):
    """Returns the same data in another order after a rebuild."""

    def close(self, action: ActionContext, id: str) -> None:
        super().close(action, id)
        self.records[id] = dict(reversed(self.records[id].items()))


def test_the_suite_compares_the_order_of_keys() -> None:
    with pytest.raises(NotConforming, match="a replay of the log gave another state"):
        a_replay_rebuilds_the_state(tickets(state=ReordersKeys))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exercise": (Request("GET", "/nowhere"),)}, "all 1 requests of its exercise were refused"),
        (
            {"exercise": (Request("GET", "/tickets"), Request("POST", "/tickets/9/close"))},
            "all 1 writes of its exercise were refused",
        ),
        ({"exercise_datasets": ()}, "datasets of type records, and its SPEC has no exercise_datasets"),
    ],
)
def test_the_suite_catches_an_exercise_whose_requests_are_all_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(NotConforming, match=reason):
        the_exercise_is_accepted(tickets(**changes))


class Unlocked(BearerToken):
    """Accepts any token."""

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        return True


def test_the_suite_catches_a_scheme_that_accepts_anything() -> None:
    with pytest.raises(NotConforming, match="without a valid credential got a 200"):
        a_credential_is_needed_for_every_operation(_changed(authentication=(Unlocked(),)))


def test_the_suite_catches_a_wrong_status_without_a_credential() -> None:
    with pytest.raises(NotConforming, match="without a valid credential got a 404"):
        a_credential_is_needed_for_every_operation(_changed(refuse=lambda refusal: Reply(404)))


class WriteRefused(Payload, kind="files.write.refused"):
    """A write was refused."""

    effect: ClassVar[EffectType] = "none"


class WriteTried(Payload, kind="files.write.tried"):
    """A write was tried; by its effect, something was done."""


@pytest.mark.parametrize(("event", "conforms"), [(WriteRefused, True), (WriteTried, False)])
def test_a_refusal_may_be_logged_by_an_event_without_effect_only(event: type[Payload], conforms: bool) -> None:
    def refuse(call: RawCall) -> Reply:
        call.context.action.emit(event())
        return json_reply(422, {"error": {"code": "invalid_input", "message": "no"}})

    route = raw_route("PUT", "/files/{path*}", "write_file", refuse)
    exercise = (Request("PUT", "/files/a"),)
    spec = _changed(routes=(route,), operations=(route.operation,), events=(event,), exercise=exercise)
    with nullcontext() if conforms else pytest.raises(NotConforming, match="was refused but changed something"):
        garbage_is_refused(spec)
