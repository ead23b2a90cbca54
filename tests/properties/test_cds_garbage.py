"""Any JSON is judged as cards, and any call of a service gets cards or a refusal."""

import json
from typing import Any

import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.formats.cds_hooks.validation import validate_response
from clerkship.sandbox.request import Request
from clerkship.simulators.cds_service import SPEC
from clerkship.simulators.cds_service.exercise import CALL
from tests.examples import examples
from tests.fuzz.message_targets import check_answer

NAMES = st.sampled_from(
    (
        *("cards", "services", "systemActions", "summary", "indicator", "source", "label", "uuid", "detail", "links"),
        *("suggestions", "actions", "type", "resource", "resourceType", "id", "resourceId", "url", "overrideReasons"),
        *(
            "code",
            "display",
            "system",
            "topic",
            "selectionBehavior",
            "isRecommended",
            "extension",
            "appContext",
            "hook",
        ),
        *(
            "prefetch",
            "description",
            "subject",
            "reference",
            "medicationCodeableConcept",
            "coding",
            "text",
            "entry",
            "x",
        ),
    )
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        ("", "info", "critical", "at-most-one", "create", "delete", "smart", "Patient/p1", "patient-view")
    )
    | st.sampled_from(
        ("Patient", "http://x.example", "x" * 200, "{{context.patientId}}", "Patient/{{userId}}", "\ud800")
    )
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=5),
    max_leaves=20,
)
CARD: dict[str, Any] = {
    "summary": "Allergy",
    "indicator": "critical",
    "source": {"label": "Allergies", "topic": {"code": "a", "system": "urn:example"}},
    "suggestions": [
        {
            "label": "Stop",
            "uuid": "s1",
            "actions": [{"type": "delete", "description": "Stop", "resourceId": "MedicationRequest/m1"}],
        }
    ],
    "selectionBehavior": "at-most-one",
    "overrideReasons": [{"code": "r", "system": "urn:example", "display": "Reason"}],
    "links": [{"label": "Guide", "url": "https://guide.example", "type": "absolute"}],
}


def list_places(data: Any) -> list[tuple[Any, Any]]:
    """Return every container of some data with each of its keys."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []
    return [(data, key) for key in keys] + [place for key in keys for place in list_places(data[key])]


def mangle(data: Any, draw: st.DrawFn) -> Any:
    """Return a copy in which up to three values are replaced by anything."""
    changed = orjson.loads(orjson.dumps(data))
    for _ in range(draw(st.integers(1, 3))):
        places = list_places(changed)
        if places:
            holder, key = draw(st.sampled_from(places))
            holder[key] = draw(JUNK)
    return changed


@st.composite
def mangled_answers(draw: st.DrawFn) -> Any:
    """An answer with one to three cards, in which some values are anything."""
    return mangle({"cards": [CARD] * draw(st.integers(1, 3)), "systemActions": []}, draw)


@st.composite
def mangled_calls(draw: st.DrawFn) -> Any:
    """A call in which some values are anything."""
    return mangle(CALL, draw)


@settings(max_examples=examples(300), deadline=None)
@given(JUNK | mangled_answers())
@example({"cards": [CARD] * 500})
def test_any_json_is_judged_within_the_limits(data: Any) -> None:
    check_answer(data)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200))
@example(b"[" * 100_000)
@example(b'{"cards": ' + b"[" * 100_000)
def test_any_bytes_are_judged_within_the_limits(data: bytes) -> None:
    check_answer(data)


def test_large_answer_is_judged_within_the_limits() -> None:
    check_answer({"cards": [{**CARD, "summary": "x" * 10_000_000}]})
    check_answer({"cards": [{"x" * 100_000: 1}] * 200})
    check_answer({"services": [{"hook": "x" * 1_000_000, "id": "y" * 1_000_000, "description": "z"}] * 10})
    check_answer(b'{"cards": ["' + b"x" * 10_000_000 + b'"]}')


def render_json(data: Any) -> bytes:
    """Render JSON as Python's standard library does, which writes numbers and text that others refuse."""
    return json.dumps(data).encode()


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(JUNK | mangled_calls(), min_size=1, max_size=5))
def test_any_call_gets_cards_or_a_refusal(calls: list[Any]) -> None:
    with SimulatorRig(SPEC) as rig:
        for data in calls:
            for path in ("/cds-services/order-safety", "/cds-services/order-safety/feedback"):
                reply = rig.send(Request("POST", path, body=render_json(data)))
                assert reply.status in (200, 400, 412, 413), reply.body
        assert rig.playground.broken is None


def test_the_valid_answer_and_the_valid_call_pass() -> None:
    response = validate_response({"cards": [CARD]})
    assert (len(response.cards), response.problems) == (1, ())
    with SimulatorRig(SPEC) as rig:
        assert rig.send(Request("POST", "/cds-services/order-safety", body=render_json(CALL))).status == 200
