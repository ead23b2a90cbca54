"""Criteria and reports fill the tables of the state from the log, so that both read an event in the same way."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.tables import EventTable, fill_tables
from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.request import Request
from clerkship.simulators import cds_service
from clerkship.simulators.cds_service.state import CdsServiceState
from tests.examples import examples
from tests.simulators.cds_service.calls import PATH, build_call, post
from tests.simulators.fax.clinic import BROKEN, BUSY, LAB, OWN, FaxClinic
from tests.simulators.messages.desk import ADA, ANA, FrontDesk

ACTIONS = st.lists(st.integers(0, 7), max_size=12)


def _read(rig: SimulatorRig, table: type[EventTable]) -> EventTable:
    """Fill a table from the bytes of the log."""
    return fill_tables(rig.logged_events(), table).get(rig.name) or table()


def _compare(rig: SimulatorRig, table: EventTable) -> tuple[Any, Any]:
    """Return a table of the state and the same from the log as plain data. Work for later is the state's alone."""
    return _without_due(to_plain(table)), _without_due(to_plain(_read(rig, type(table))))


def _without_due(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_due(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_due(each) for name, each in value.items() if name != "due"}
    return value


def compare_faxes(data: st.DataObject) -> tuple[Any, Any]:
    """Send, receive, read, mark and delete faxes."""
    with FaxClinic() as clinic:
        for number in data.draw(ACTIONS):
            ids = list(clinic.state.faxes)
            id = data.draw(st.sampled_from(ids)) if ids else "none"
            match number:
                case 0 | 1:
                    clinic.send(data.draw(st.sampled_from([LAB, BUSY, BROKEN, OWN, "12"])), "One page.", max_retries=1)
                case 2:
                    clinic.receive("A letter.")
                case 3:
                    clinic.send("", "An answer.", in_reply_to=id)
                case 4:
                    clinic.request("GET", f"/faxes/{id}/pages/1")
                case 5:
                    clinic.request("POST", f"/faxes/{id}/read", body=orjson.dumps({"unread": data.draw(st.booleans())}))
                case 6:
                    clinic.request("DELETE", f"/faxes/{id}/content")
                case _:
                    clinic.wait(data.draw(st.sampled_from([10, 60, 600])))
        return _compare(clinic.rig, clinic.state.index)


def compare_messages(data: st.DataObject) -> tuple[Any, Any]:
    """Send, receive, read, mark and answer messages, and close threads."""
    with FrontDesk() as desk:
        for number in data.draw(ACTIONS):
            ids, threads = list(desk.state.messages), list(desk.state.threads)
            id = data.draw(st.sampled_from(ids)) if ids else "none"
            thread = data.draw(st.sampled_from(threads)) if threads else "none"
            body = orjson.dumps({data.draw(st.sampled_from(["unread", "closed"])): data.draw(st.booleans())})
            match number:
                case 0:
                    desk.send("sms", data.draw(st.sampled_from([ANA, ADA, "+15555550143", "12"])))
                case 1:
                    desk.send("email", data.draw(st.sampled_from(["ana@mail.example", "x@else.example"])), subject="A")
                case 2:
                    desk.send("portal", "Patient/ada", subject="Result")
                case 3:
                    desk.receive("sms", ANA, data.draw(st.sampled_from(["Hello", "STOP", "START"])))
                case 4:
                    desk.receive("portal", "Patient/ada", "A question")
                case 5:
                    desk.rig.send(Request("GET", f"/messages/{id}"))
                case 6:
                    path = data.draw(st.sampled_from([f"/messages/{id}/read", f"/threads/{thread}/close"]))
                    desk.rig.send(Request("POST", path, {}, {"content-type": "application/json"}, body))
                case _:
                    desk.wait(data.draw(st.sampled_from([1, 30, 600])))
        return _compare(desk.rig, desk.state.mailbox)


def compare_service_calls(data: st.DataObject) -> tuple[Any, Any]:
    """Call a service, and send feedback on cards."""
    with SimulatorRig(cds_service.SPEC) as rig:
        state = rig.playground.sandboxes[rig.name].state
        assert isinstance(state, CdsServiceState)
        for number in data.draw(ACTIONS):
            cards = [str(card["uuid"]) for call in state.calls.in_order for card in call.cards]
            if number % 2 or not cards:
                drug, taken = data.draw(st.sampled_from([("ibuprofen", "warfarin"), ("metformin", ""), ("", "")]))
                post(rig, build_call(drug, taken))
            else:
                item = {"card": data.draw(st.sampled_from([*cards, "none"])), "outcome": "overridden"}
                post(rig, {"feedback": [{**item, "outcomeTimestamp": "2026-03-02T09:00:00Z"}]}, f"{PATH}/feedback")
        return _compare(rig, state.calls)


READINGS: Mapping[str, Callable[[st.DataObject], tuple[Any, Any]]] = {
    "fax": compare_faxes,
    "messages": compare_messages,
    "cds_service": compare_service_calls,
}


@pytest.mark.parametrize("kind", READINGS)
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_log_is_read_as_the_state_has_it(kind: str, data: st.DataObject) -> None:
    state, read = READINGS[kind](data)
    assert read == state
