"""healthchain judges what the `cds_service` sandbox answers, and which requests it refuses."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.cds_service import SPEC
from clerkship.simulators.cds_service.config import CdsServiceConfig
from tests.clients.cds_judges.disagreements import DISAGREEMENTS
from tests.clients.cds_judges.judges import healthchain_errors, is_judged, settle
from tests.formats.cds_hooks.broken_examples import BROKEN, break_example, load_example
from tests.simulators.cds_service.calls import build_call

REQUESTS = tuple(name for name in BROKEN if name.startswith("request-") and is_judged(name))
ANSWERS = tuple(name for name in BROKEN if name.startswith("response-"))
UNSAFE = (
    ("ibuprofen 600 mg", "warfarin sodium 5 MG", ""),
    ("amoxicillin 500 MG", "", "Penicillin allergy"),
    ("lisinopril 20 MG", "lisinopril 10 MG", ""),
    ("spironolactone", "lisinopril 10 MG", "spironolactone"),
    ("metformin", "", ""),
)
"""An order, a drug that the patient takes, and an allergy."""


def send(rig: SimulatorRig, service: str, data: Any) -> Reply:
    return rig.send(Request("POST", f"/cds-services/{service}", body=orjson.dumps(data)))


@pytest.fixture
def rig() -> Iterator[SimulatorRig]:
    """A sandbox with a service of rules, one for each hook, and one for the cards of each example."""
    hooks = [name.removeprefix("request-") for name in REQUESTS]
    services: list[dict[str, Any]] = [{"id": hook, "hook": hook, "description": "Silent"} for hook in hooks]
    services.append({"id": "rules", "hook": "order-sign", "title": "Rules", "description": "Checks orders"})
    services[-1]["rules"] = ["allergy", "interaction", "duplicate_order"]
    for name in ANSWERS:
        cards = load_example(name)["cards"]
        services.append({"id": name, "hook": "order-sign", "description": "Given cards", "cards": cards})
    config = CdsServiceConfig.model_validate({"services": services})
    with SimulatorRig(SPEC, prepared=PreparedSimulator(SPEC, config, SPEC.prepare(()))) as rig:
        yield rig


def test_judge_accepts_the_discovery_document(rig: SimulatorRig) -> None:
    document = orjson.loads(rig.send(Request("GET", "/cds-services")).body)
    assert len(document["services"]) == len(REQUESTS) + 1 + len(ANSWERS)
    assert healthchain_errors([("discovery", document)]) == [[]]


def test_judge_accepts_the_cards_of_every_rule(rig: SimulatorRig) -> None:
    answers = [orjson.loads(send(rig, "rules", build_call(*case)).body) for case in UNSAFE]
    assert [len(answer["cards"]) for answer in answers] == [1, 1, 1, 2, 0]
    assert healthchain_errors([("response", settle(answer)) for answer in answers]) == [[]] * len(UNSAFE)


def test_judge_accepts_given_cards_with_the_uuids_that_the_sandbox_adds(rig: SimulatorRig) -> None:
    answers = [orjson.loads(send(rig, name, build_call("metformin")).body) for name in ANSWERS]
    assert all(card["uuid"] for answer in answers for card in answer["cards"])
    errors = healthchain_errors([("response", settle(answer)) for answer in answers])
    assert dict(zip(ANSWERS, errors, strict=True)) == {name: [] for name in ANSWERS}


def test_the_sandbox_refuses_the_requests_that_the_judge_refuses_but_for_the_listed_ones(rig: SimulatorRig) -> None:
    cases = {(name, flaw): break_example(name, flaw) for name in REQUESTS for flaw in BROKEN[name]}
    errors = healthchain_errors([(name, data) for (name, _), data in cases.items()])
    different = {}
    for ((name, flaw), data), found in zip(cases.items(), errors, strict=True):
        is_refused = not send(rig, name.removeprefix("request-"), data).ok
        if is_refused != bool(found):
            different[name, flaw] = "clerkship" if is_refused else "judge"
    listed = {
        (name, flaw): each.refused_by
        for each in DISAGREEMENTS
        for name, flaws in each.cases.items()
        if name in REQUESTS
        for flaw in flaws
    }
    assert different == listed
    assert len(cases) > 3 * len(listed)


def test_the_sandbox_answers_every_example_request(rig: SimulatorRig) -> None:
    replies = [send(rig, name.removeprefix("request-"), load_example(name)) for name in REQUESTS]
    assert [(reply.status, orjson.loads(reply.body)) for reply in replies] == [(200, {"cards": []})] * len(REQUESTS)
