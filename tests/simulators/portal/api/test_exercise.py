"""The exercise of the conformance suite."""

from clerkship.checks.conformance.checks import CheckContext
from clerkship.simulators.portal import SPEC
from clerkship.simulators.portal.exercise import REFERENCES


def test_the_numbers_of_the_exercise_are_those_that_its_requests_get() -> None:
    with CheckContext(SPEC).rig() as rig:
        for request in SPEC.exercise[:4]:
            assert rig.send(request).ok
        filed = [event.payload for event in rig.own_events() if event.kind == "portal.request.filed"]
    assert [getattr(each, "reference", "") for each in filed] == list(REFERENCES.values())
