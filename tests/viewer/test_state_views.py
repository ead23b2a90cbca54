"""What each kind of simulator and domain shows of its state."""

from collections import Counter

import orjson
import pytest

from clerkship.checks.conformance.checks import CheckContext
from clerkship.checks.conformance.rig import run_exercise
from clerkship.playground.playground import replay
from clerkship.sandbox.state_view import ViewedTrial
from clerkship.service.moments import ComponentView
from tests.workbench import CATALOG

MIN_ROWS = {"chat": 3, "fhir": 5, "files": 3, "messages": 5, "fax": 3, "voice": 2, "hl7": 2, "tables": 3}
"""How many records the exercise of a kind leaves at least."""


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind, _ in CATALOG.simulators.items()])
def test_rows_of_every_kind_are_plain_data_with_unique_keys(kind: str) -> None:
    context = CheckContext(CATALOG.simulator(kind))
    with context.rig() as rig:
        run_exercise(rig)
        components, events = {**rig.prepared_simulators, **rig.domains}, rig.logged_events()
    starts, states = replay(components, ()), replay(components, ())
    views = {
        name: ComponentView(component, ViewedTrial(starts[name], [each for each in events if each.source == name]))
        for name, component in components.items()
    }
    for event in events:
        if event.source in states:
            states[event.source].apply(event)
        if event.source not in views or event.seq % 20:
            continue
        rows = list(views[event.source].compare(states[event.source]))
        keys = Counter(compared.row.key for compared in rows)
        assert [key for key, count in keys.items() if count > 1] == []
    changed = 0
    for name, view in views.items():
        for compared in view.compare(states[name]):
            orjson.dumps([compared.row.facts, compared.row.data(), compared.row.title, compared.row.group])
            if compared.find_change() is not None:
                changed += 1
                cause = view.find_cause(compared.row, len(events))
                assert cause is None or cause <= len(events)
    assert changed >= MIN_ROWS.get(kind, 1)


def test_every_view_is_a_function_of_its_kind() -> None:
    for spec in CATALOG.components():
        module, _, name = spec.view.partition(":")
        package = "payer" if spec.kind == "payer" else f"simulators.{spec.kind}"
        assert spec.view == "" or (module, name) == (f"clerkship.{package}.state_view", "list_rows"), spec.kind
