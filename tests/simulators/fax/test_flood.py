"""Many faxes: the cost of a request does not grow with them."""

from dataclasses import replace
from functools import partial

import orjson
import pytest

from clerkship.formats.fax_pages.page import FaxPage
from clerkship.sandbox.request import Request
from clerkship.simulators.fax.events import FaxQueued
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax, IncomingPage, OutgoingDocument, OutgoingFax
from clerkship.simulators.fax.state import FaxState
from tests.call_count import count_lines, measure_alone
from tests.simulators.fax.clinic import FaxClinic
from tests.waiting import processor_limit

FLOOD, FEW = 10_000, 200
SPARE = 100
"""Faxes that may still be sent."""
NUMBER = "+15550000007"
REQUESTS = {
    "send": Request("POST", "/faxes", {}, {}, orjson.dumps({"to": NUMBER, "documents": [{"text": "x"}]})),
    "line": Request("GET", "/"),
    "faxes": Request("GET", "/faxes", {"count": "10"}),
    "unread": Request("GET", "/faxes", {"count": "10", "unread": "true"}),
    "last faxes": Request("GET", "/faxes", {"count": "10", "after": "LAST"}),
    "of a number": Request("GET", "/faxes", {"count": "10", "address": NUMBER}),
    "one fax": Request("GET", "/faxes/LAST"),
    "mark": Request("POST", "/faxes/LAST/read"),
}
PAGE = IncomingDocument(pages=(IncomingPage(page=FaxPage(width=8, height=1, dots=b"\xff")),))


def fill(clinic: FaxClinic, count: int) -> None:
    """Let faxes arrive, each from another number."""
    state, action = clinic.rig.playground.state(FaxState, None)
    for number in range(count):
        fax = IncomingFax(sender=f"+1555{number:07d}", documents=(PAGE,), has_header=False)
        state.receive(action, fax)


def measure_requests() -> list[int]:
    """Return the lines that each request takes with few faxes, and then those with many."""
    counts = []
    for count in (FEW, FLOOD):
        with FaxClinic(max_faxes=FLOOD + SPARE) as clinic:
            fill(clinic, count)
            last = clinic.state.index.in_order[-20].id
            for request in REQUESTS.values():
                query = {name: last if value == "LAST" else value for name, value in request.query.items()}
                sent = replace(request, query=query, path=request.path.replace("LAST", last))
                counts.append(count_lines(partial(clinic.rig.send, sent)))
    return counts


@pytest.mark.slow
def test_requests_cost_the_same_with_many_faxes_as_with_few() -> None:
    counts = measure_alone(measure_requests)
    ratios = {name: many / few for name, few, many in zip(REQUESTS, counts, counts[len(REQUESTS) :], strict=False)}
    assert len(ratios) == len(REQUESTS)
    assert {name: ratio for name, ratio in ratios.items() if ratio > 1.2} == {}


def test_10000_faxes_are_sent_in_bounded_time() -> None:
    with FaxClinic() as clinic:
        state, action = clinic.rig.playground.state(FaxState, None)
        fax = OutgoingFax(to=NUMBER, documents=(OutgoingDocument(format="text", data=b"x"),))
        header = state.send(action, fax).payload.header  # type: ignore[attr-defined]
        with processor_limit(60):
            for number in range(9_999):
                action.emit(FaxQueued(header=header.model_copy(update={"id": f"fax_{number}", "to": NUMBER})))
            clinic.wait()
        assert {record.status for record in state.faxes.values()} == {"failed"}
