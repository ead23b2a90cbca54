"""Every registered simulator, through the suite that ships."""

import pytest

from clerkship.conformance import CHECKS
from clerkship.conformance.checks import Check, NotConforming, check_simulator, every_operation_is_a_tool
from clerkship.model.frozen import Frozen
from clerkship.sandbox.exchange import Reply, Request, json_reply
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.sandbox.route import Route
from clerkship.simulators import files
from clerkship.simulators.files.http import ROUTES
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.registry import SPECS, BrokenSimulator, load_simulators
from clerkship.simulators.spec import Spec
from tests.raw_routes import RawCall, raw_route


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_a_simulator_conforms(spec: Spec, check: Check) -> None:
    check(spec)


def _changed(**changes: object) -> Spec:
    return Spec(**{**vars(files.SPEC), **changes})


def test_the_suite_catches_a_write_that_is_acknowledged_and_not_applied() -> None:
    def pretend(call: RawCall) -> Reply:
        return json_reply(201, {"status": "executed successfully"})

    routes = tuple(
        raw_route("PUT", "/files/{path*}", "write_file", pretend) if r.operation.name == "write_file" else r
        for r in ROUTES
    )
    with pytest.raises(NotConforming, match="acknowledged and left no event"):
        check_simulator(_changed(routes=routes))


def test_the_suite_catches_a_route_that_breaks() -> None:
    def breaks(call: RawCall) -> Reply:
        raise KeyError("oops")

    routes = (*ROUTES[1:], raw_route("GET", "/files", "list_files", breaks))
    with pytest.raises(Exception, match="oops"):
        check_simulator(_changed(routes=routes))


def test_the_suite_catches_an_exercise_that_leaves_something_out() -> None:
    with pytest.raises(NotConforming, match="leaves out"):
        check_simulator(_changed(exercise=(Request("GET", "/files"),)))


class TextFile(Frozen):
    """A file that can only be text."""

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


def test_the_registry_refuses_a_kind_taken_twice_and_a_spec_that_contradicts_itself() -> None:
    with pytest.raises(Exception, match="two simulators are called `files`"):
        load_simulators([files.SPEC, files.SPEC])
    with pytest.raises(BrokenSimulator, match=r"does not start with `other\."):
        load_simulators([_changed(kind="other")])
    with pytest.raises(BrokenSimulator, match="no exercise"):
        load_simulators([_changed(exercise=())])
