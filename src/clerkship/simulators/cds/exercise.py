"""Requests that use every operation of an EHR that calls CDS services."""

from clerkship.sandbox.request import Request
from clerkship.simulators.cds import operations as ops
from clerkship.simulators.cds.delivery import CdsCall

_DISCOVERY = b"""{"services": [{"hook": "patient-view", "id": "greeter", "description": "Greets"}, {"id": "broken"}]}"""
_NO_CALL = ops.CallId(id="none/1")

EXERCISE = (
    Request("GET", "/services"),
    Request("POST", "/services", body=b'{"url": "http://127.0.0.1:9"}'),
    Request("POST", "/services", body=b'{"url": "127.0.0.1:9"}'),
    CdsCall(ops.report_discovery, ops.DiscoveryAnswer(body=_DISCOVERY)),
    CdsCall(ops.report_discovery, ops.DiscoveryAnswer(body=b"{")),
    CdsCall(ops.report_discovery_failure, ops.DiscoveryFailure(reason="timed_out")),
    Request("GET", "/services"),
    Request("GET", "/hooks"),
    Request("GET", "/hooks/none"),
    Request("GET", "/jwks.json"),
    CdsCall(ops.prepare_call, _NO_CALL),
    CdsCall(ops.report_answer, ops.ServiceAnswer(id="none/1", status=200, body=b'{"cards": []}')),
    CdsCall(ops.report_failure, ops.CallFailure(id="none/1", reason="status", status=500)),
    CdsCall(ops.decide_cards, _NO_CALL),
    CdsCall(ops.prepare_feedback, _NO_CALL),
    CdsCall(ops.report_feedback, ops.FeedbackResult(id="none/1", delivered=True, status=200)),
    Request("DELETE", "/services"),
)
