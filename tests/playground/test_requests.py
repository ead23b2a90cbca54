"""What the log records of each request, and what is listed beside it of requests without a credential."""

import socket
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.event import MAX_BODY, MAX_QUERY, MAX_TOTAL_BODIES, AgentRequest, Event, parse_event, render_event
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.events.request_line import (
    describe_unauthenticated_requests,
    describe_unmatched_requests,
    render_event_request,
    render_logged_request,
)
from clerkship.events.sidecar import MAX_UNAUTHENTICATED
from clerkship.playground.handlers import RequestContext
from clerkship.sandbox.faults.request_faults import DropFault, DuplicateFault, ErrorFault, LatencyFault
from clerkship.sandbox.request import QueryParams, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.fhir import SPEC as FHIR
from clerkship.simulators.files import SPEC as FILES
from clerkship.simulators.hl7 import SPEC as HL7

JSON = {"content-type": "application/fhir+json"}
PATIENT = b'{"resourceType":"Patient","id":"p1","name":[{"family":"Meier"}]}'


@pytest.fixture
def chart() -> Iterator[SimulatorRig]:
    with SimulatorRig(FHIR) as rig:
        rig.send(Request("PUT", "/Patient/p1", headers=JSON, body=PATIENT))
        yield rig


@pytest.fixture
def drop() -> Iterator[SimulatorRig]:
    with SimulatorRig(FILES) as rig:
        yield rig


def last(rig: SimulatorRig) -> Event:
    return rig.playground.log.events[-1]


def lines(rig: SimulatorRig) -> list[str | None]:
    return [render_event_request(event) for event in rig.playground.log.events]


def test_successful_request_is_attached_to_the_simulators_event(chart: SimulatorRig) -> None:
    chart.send(Request("GET", "/Patient", QueryParams((("name", "meier"), ("_count", "5")))))
    assert last(chart).kind == "fhir.resources.searched"
    assert last(chart).request == AgentRequest("GET", "/Patient", "name=meier&_count=5", 200)
    assert len(chart.playground.log.events) == 2


def test_requests_are_rendered_with_their_result(chart: SimulatorRig) -> None:
    observation = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}}
    chart.send(Request("GET", "/Patient", {"name": "meier"}))
    chart.send(Request("GET", "/Condition", QueryParams((("patient", "p1"), ("code", "a|b c")))))
    created = chart.send(Request("POST", "/Observation", headers=JSON, body=orjson.dumps(observation)))
    chart.send(Request("GET", "/Patient/p9"))
    chart.send(Request("GET", "/Patient/p1"))
    chart.send(Request("GET", "/metadata"))
    chart.send(
        Request("POST", "/Patient/_search", {}, {"content-type": "application/x-www-form-urlencoded"}, b"name=x")
    )
    new = created.headers["Location"].partition("/_history")[0].rpartition("/")[2]
    assert lines(chart) == [
        "PUT Patient/p1 → 201",
        "GET Patient?name=meier → 200, 1 match",
        "GET Condition?patient=p1&code=a|b c → 200, 0 matches",
        f"POST Observation → 201 Observation/{new}",
        f"GET Patient/p9 → 404 {last_reason(chart)}",
        "GET Patient/p1 → 200",
        "GET metadata → 200",
        "POST Patient/_search (name=x) → 200, 0 matches",
    ]


def last_reason(rig: SimulatorRig) -> str:
    refused = [event for event in rig.playground.log.events if event.kind == "sandbox.refused"]
    return str(refused[-1].payload.model_dump()["reason"])


def test_a_refusal_holds_the_request_with_its_body(chart: SimulatorRig) -> None:
    chart.send(Request("POST", "/Patient", headers=JSON, body=b'{"resourceType":"Patient","sex":"x"}'))
    request = last(chart).request
    assert last(chart).kind == "sandbox.refused"
    assert request is not None
    assert (request.method, request.path, request.status) == ("POST", "/Patient", 400)
    assert request.body == b'{"resourceType":"Patient","sex":"x"}'
    assert request.size == len(request.body)


def test_body_that_an_event_contains_is_not_logged_twice(chart: SimulatorRig) -> None:
    assert chart.playground.log.events[0].request == AgentRequest("PUT", "/Patient/p1", "", 201)


def test_bundle_event_records_the_request_and_entries_have_events_too(chart: SimulatorRig) -> None:
    entries = [{"request": {"method": "GET", "url": "Patient/p1"}}, {"request": {"method": "GET", "url": "Patient"}}]
    bundle = orjson.dumps({"resourceType": "Bundle", "type": "batch", "entry": entries})
    chart.send(Request("POST", "/", headers=JSON, body=bundle))
    assert lines(chart)[1:] == ["GET Patient/p1 → 200", "GET Patient → 200, 1 match", "POST / → 200, 2 entries"]
    assert [event.request is not None for event in chart.playground.log.events[1:]] == [False, False, True]


def test_request_without_an_event_of_the_simulator_gets_one(drop: SimulatorRig) -> None:
    drop.send(Request("GET", "/stat"))
    assert last(drop).kind == "sandbox.answered"
    assert render_event_request(last(drop)) == "GET stat → 200"


def test_messages_of_hl7_are_rendered_with_type_control_id_and_acknowledgement() -> None:
    with SimulatorRig(HL7) as lab:
        for request in HL7.exercise:
            lab.send(request)
        shown = lines(lab)
    assert shown[1] == "POST hl7/outbound → 200 AA, ADT^A01 (1)"
    assert shown[2] == "POST hl7/outbound → 200 AA (1)"
    assert str(shown[3]).startswith("POST hl7/outbound → 200 AE, ADT^A01 (1): MSH-10: the control id 1 was")


def test_rename_is_rendered_with_both_paths(drop: SimulatorRig) -> None:
    drop.send(Request("PUT", "/files/a.txt", body=b"one"))
    drop.send(Request("POST", "/rename", body=b'{"from": "a.txt", "to": "b.txt"}'))
    assert render_event_request(last(drop)) == "POST rename → 204, a.txt to b.txt"


def test_fault_event_has_the_affected_request(drop: SimulatorRig) -> None:
    drop.playground.inject(ErrorFault(times=1))
    drop.send(Request("PUT", "/files/a.txt", body=b"one"))
    assert render_event_request(last(drop)) == "PUT files/a.txt → 503 (fault: error)"
    assert last(drop).request == AgentRequest("PUT", "/files/a.txt", "", 503, size=3, body=b"one")
    drop.playground.inject(DropFault(times=1))
    drop.send(Request("GET", "/files"))
    assert render_event_request(last(drop)) == "GET files → no answer (fault: drop)"


def test_reply_of_the_sandbox_is_logged_even_if_a_fault_alters_it(drop: SimulatorRig) -> None:
    drop.playground.inject(DropFault(times=1, when="reply"))
    drop.send(Request("PUT", "/files/a.txt", body=b"one"))
    assert lines(drop) == ["PUT files/a.txt → 201, 3 bytes", "PUT files/a.txt → no answer (fault: drop)"]


def test_a_request_that_arrives_twice_is_recorded_twice(drop: SimulatorRig) -> None:
    drop.playground.inject(DuplicateFault(times=1))
    drop.playground.inject(LatencyFault(by=timedelta(seconds=1), times=1))
    drop.send(Request("PUT", "/files/a.txt", body=b"one"))
    assert lines(drop) == [
        "PUT files/a.txt → 204 (fault: latency)",
        "PUT files/a.txt → 201, 3 bytes",
        "PUT files/a.txt → 204 (fault: duplicate)",
        "PUT files/a.txt → 204, 3 bytes",
    ]


def test_credentials_do_not_get_into_the_log(drop: SimulatorRig) -> None:
    token = drop.token
    drop.send(Request("GET", f"/files/{token}", QueryParams((("access_token", "of somebody"), ("x", token.upper())))))
    drop.send(Request("POST", "/rename", body=f'{{"from": "{token}"}}'.encode()))
    stored = drop.playground.log.data() + b"".join(drop.playground.log.blobs.values())
    assert token.encode() not in stored
    assert token.upper().encode() not in stored
    assert b"of somebody" not in stored
    assert b"[token of box]" in stored


def test_the_address_of_the_server_does_not_get_into_the_log(chart: SimulatorRig) -> None:
    for base in ("http://one.invalid/pg/box", "http://other.invalid:8080/pg/box"):
        chart.send(Request("GET", "/Nothing", {"subject": f"{base}/Patient/p1"}), base=base)
        body = f'{{"resourceType":"Nothing","link":"{base}/Patient/p1"}}'.encode()
        chart.send(Request("POST", "/Nothing", headers=JSON, body=body), base=base)
    assert b"invalid" not in chart.playground.log.data()
    first, two, three, four = (event.request for event in chart.playground.log.events[1:])
    assert (first, two) == (three, four)


def test_long_bodies_are_cut_and_bodies_beyond_the_total_limit_dropped(drop: SimulatorRig) -> None:
    drop.send(Request("POST", "/rename", body=b"x" * (MAX_BODY + 5)))
    request = last(drop).request
    assert request is not None
    assert (request.size, len(request.body)) == (MAX_BODY + 5, MAX_BODY)
    assert len(drop.lines[-1]) < 1000
    drop.playground.log.request_bodies = MAX_TOTAL_BODIES
    drop.send(Request("POST", "/rename", body=b"yyy"))
    assert last(drop).request == AgentRequest("POST", "/rename", "", 400, size=3)


def test_long_queries_are_cut(drop: SimulatorRig) -> None:
    drop.send(Request("GET", "/files", {"prefix": "a" * 100_000}))
    request = last(drop).request
    assert request is not None
    assert len(request.query) < MAX_QUERY + 50
    assert request.query.endswith("… (100,007 characters)")
    assert len(render_event_request(last(drop)) or "") < 500


@pytest.mark.parametrize("body", [b"", b"text", b"\xff\x00", b"x" * 5000, b"\xff" * 5000])
def test_request_round_trips_through_its_bytes(drop: SimulatorRig, body: bytes) -> None:
    drop.send(Request("POST", "/rename", body=body))
    blobs: dict[str, bytes] = {}
    line = render_event(last(drop), blobs)
    assert parse_event(line, {kind.kind: kind for kind in LIFECYCLE_EVENTS}, blobs.__getitem__) == last(drop)
    assert render_logged_request(orjson.loads(line)) == render_event_request(last(drop))


def test_old_logs_without_requests_still_load(chart: SimulatorRig) -> None:
    chart.send(Request("GET", "/Patient", {"name": "meier"}))
    record = orjson.loads(chart.lines[-1])
    del record["request"]
    kinds = {kind.kind: kind for kind in FHIR.events}
    event = parse_event(orjson.dumps(record), kinds, chart.playground.log.blobs.__getitem__)
    assert event.request is None
    assert render_event_request(event) == "GET Patient?name=meier → 200, 1 match"


def test_subscribers_get_the_request_of_an_event(drop: SimulatorRig) -> None:
    seen: list[Event] = []
    drop.playground.subscribe(seen.append)
    drop.send(Request("GET", "/files"))
    assert [render_event_request(event) for event in seen] == ["GET files → 200, 0 entries"]


def test_requests_without_a_valid_credential_are_listed_beside_the_log(drop: SimulatorRig) -> None:
    drop.send(Request("GET", "/files/a.txt", {"token": "guess"}), token="wrong")
    drop.send_http(Request("DELETE", "/files/a.txt"), {"authorization": "Bearer "})
    results = drop.playground.sidecar.data()["unauthenticated"]
    assert drop.playground.log.events == []
    assert results["count"] == 2
    first, second = results["requests"]
    assert (first["method"], first["path"], first["status"]) == ("GET", "/files/a.txt", 401)
    assert first["query"] == "token=[redacted]"
    assert (second["method"], second["sandbox"]) == ("DELETE", "box")


def test_list_of_unauthenticated_requests_is_bounded_but_counted(drop: SimulatorRig) -> None:
    for _ in range(MAX_UNAUTHENTICATED + 3):
        drop.send(Request("GET", "/" + "x" * 5000), token="wrong")
    results = drop.playground.sidecar.data()["unauthenticated"]
    assert (results["count"], len(results["requests"])) == (MAX_UNAUTHENTICATED + 3, MAX_UNAUTHENTICATED)
    assert len(orjson.dumps(results)) < 50_000


def test_nothing_is_listed_without_unauthenticated_requests(drop: SimulatorRig) -> None:
    drop.send(Request("GET", "/files"))
    assert "unauthenticated" not in drop.playground.sidecar.data()


def test_requests_for_no_running_trial_are_counted_for_the_run(drop: SimulatorRig) -> None:
    gateway, request = drop.gateway, Request("GET", "/files", {"token": "guess"})
    gateway.handle(RequestContext("pg_never", "box", HttpCall(request), "x"))
    gateway.remove_playground(drop.playground)
    gateway.handle(RequestContext(drop.playground.id, "box", HttpCall(request), drop.token))
    results = gateway.unmatched.data()
    assert [(kept["path"], kept["query"], kept["status"]) for kept in results["requests"]] == [
        ("/files", "token=[redacted]", 404),
        ("/files", "token=[redacted]", 401),
    ]
    assert describe_unmatched_requests(results)[0] == "2 requests for no trial under way"


def test_invalid_http_requests_are_listed_beside_the_log(drop: SimulatorRig) -> None:
    place = urlsplit(drop.url())
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=10) as connection:
        connection.sendall(f"GET {place.path}/files HTTP/1.1\r\nno header\r\n\r\n".encode())
        while connection.recv(4096):
            pass
    head, line = describe_unauthenticated_requests(drop.playground.sidecar.data())
    assert head == "1 request without a valid credential, not in the log"
    assert line.startswith("unreadable request box → 400 the request is not valid HTTP")
