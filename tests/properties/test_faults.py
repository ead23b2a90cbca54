"""For any seed and probability, faults take effect at their rate and give the same bytes twice."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.kit.rng import Rng
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.faults import ActiveFault
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.faults.contract import Fault
from clerkship.sandbox.faults.registry import PROFILES, find_chaos_profile, load_faults
from clerkship.sandbox.faults.request_faults import ErrorFault
from clerkship.sandbox.request import Delivery, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators import files
from tests.examples import examples

MANY = 2000
REQUESTS = (
    Request("PUT", "/files/a.txt", body=b"hello"),
    Request("GET", "/files/a.txt"),
    Request("GET", "/files"),
    Request("DELETE", "/files/a.txt"),
)


@given(st.text(max_size=8), st.floats(min_value=0.01, max_value=0.99))
@settings(max_examples=examples(40), deadline=None)
def test_fault_takes_effect_with_its_probability(seed: str, probability: float) -> None:
    rng = Rng(seed).stream("fault/error")
    active = ActiveFault(ErrorFault(probability=probability))
    affected = sum(active.matches("drop", "list_files", rng) for _ in range(MANY))
    six_sigma = 6 * (MANY * probability * (1 - probability)) ** 0.5
    assert abs(affected - MANY * probability) <= six_sigma + 1


def play(seed: str, faults: list[Fault]) -> list[bytes]:
    """Return the log of a hundred requests under faults."""
    environment = Environment(name="desk", simulators={"drop": Simulator(kind="files")})
    playground = Playground(environment, {"drop": PreparedSimulator(files.SPEC, files.SPEC.config())}, seed)
    gateway = Gateway()
    gateway.add_playground(playground)
    for fault in faults:
        playground.inject(fault)
    for request in REQUESTS * 25:
        gateway.handle(RequestContext(playground.id, "drop", HttpCall(request), playground.sandboxes["drop"].token))
    assert playground.broken is None
    return playground.log.lines


def faults_of(profile: str) -> list[Fault]:
    by_name = {f"fault.{fault.name}": fault for fault in load_faults()}
    return [by_name[call.name].model_validate(call.args) for call in find_chaos_profile(profile)]


@given(st.text(max_size=8), st.sampled_from(sorted(PROFILES)))
@settings(max_examples=examples(20), deadline=None)
def test_the_same_seed_gives_the_same_bytes_under_chaos(seed: str, profile: str) -> None:
    assert play(seed, faults_of(profile)) == play(seed, faults_of(profile))


def test_rough_profile_has_every_fault() -> None:
    assert {fault.name for fault in faults_of("rough")} == {fault.name for fault in load_faults()}


@given(st.binary(max_size=300), st.integers(min_value=1, max_value=50))
def test_pieces_add_up_to_the_body_and_none_is_empty(body: bytes, count: int) -> None:
    pieces = Delivery(pieces=count).divide(body)
    assert b"".join(pieces) == body
    assert len(pieces) == max(1, min(count, len(body)))
    assert all(pieces) or not body
