"""Prior authorization over FHIR (PAS): the payer that answers the 278 answers it."""

import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import orjson
import pytest
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.parameters import Parameters

from clerkship.formats.fhir.validation import validate
from clerkship.formats.x12.writer import OutgoingEnvelope
from clerkship.model.path import set_value
from clerkship.payer.inquiry import PartyQuery, PersonQuery
from clerkship.payer.state import PayerState
from clerkship.sandbox.attack import Harm
from clerkship.sandbox.request import Request
from clerkship.simulators.x12.attack import X12Attack
from clerkship.simulators.x12.requests import RequestHeader, build_authorization_inquiry, render_requests
from tests.simulators.x12.clearinghouse import authorization, one, segments_of
from tests.simulators.x12.prior_authorization import (
    RESOURCES,
    X12,
    PasClearinghouse,
    action_of,
    build_bundle,
    build_inquiry,
    code,
    extension,
    find_extension,
    item,
    wrap,
)

PENDED = {"determinations": [{"match": {"procedure_code": "72148"}, "status": "approved", "delay": "4h"}]}
QUESTION = {"id": "red_flags", "text": "Are there warning signs?", "type": "boolean"}
ASKED: dict[str, Any] = {
    "determinations": [
        {"status": "need_more_info", "questions": [QUESTION], "then": [{"status": "approved"}]},
    ]
}
PRIOR = {"relationship": code("http://terminology.hl7.org/CodeSystem/ex-relatedclaimrelationship", "prior")}


def inquiry_278(number: int) -> str:
    """Return an interchange with a 278 inquiry about all authorizations of the member."""
    ana = PersonQuery(member_id="NW55501", family="Rivera", given="Ana", birth_date=date(1980, 2, 14))
    query = PartyQuery(payer_id="NW001", provider_id="1234567893", subscriber=ana)
    header = RequestHeader("ASK", datetime(2026, 3, 2, tzinfo=UTC))
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, header.created)
    return render_requests(envelope, [build_authorization_inquiry(query, header)])


def payer_of(clearinghouse: PasClearinghouse) -> PayerState:
    """Return the state of the payers."""
    state = clearinghouse.rig.playground.domains["payer"].state
    assert isinstance(state, PayerState)
    return state


def test_an_approved_request_has_number_period_and_review_action() -> None:
    with PasClearinghouse() as clearinghouse:
        reply = clearinghouse.call("submit", build_bundle())
        response = orjson.loads(reply.body)["entry"][0]["resource"]
        [record] = payer_of(clearinghouse).current.authorizations.values()
    assert reply.media == "application/fhir+json"
    assert (response["outcome"], action_of(response)) == ("complete", ["A1", record.number])
    assert (response["id"], response["preAuthRef"]) == (record.id, record.number)
    assert response["preAuthPeriod"] == {"start": "2026-03-10", "end": "2026-06-08"}
    assert response["identifier"][0]["value"] == "PA1E"
    trace = find_extension(response["item"][0], "itemTraceNumber")["valueIdentifier"]
    assert trace == {"system": "http://cedar.example/item", "value": "PA1ES"}
    assert validate(orjson.loads(reply.body)) == []
    model: Any = Bundle.model_validate_json(reply.body)
    assert model.entry[0].resource.preAuthRef == record.number


def test_the_example_of_the_reference_page_is_approved() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "x12.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    with PasClearinghouse() as clearinghouse:
        response = clearinghouse.submit(example.encode())
    assert (response["outcome"], action_of(response)[0]) == ("complete", "A1")


def test_a_claim_and_a_278_put_the_same_question_to_the_payer() -> None:
    with PasClearinghouse() as by_fhir, PasClearinghouse() as by_x12:
        by_fhir.submit(build_bundle())
        by_x12.send(one("278", authorization()))
        [first], [second] = (payer_of(each).current.authorizations.values() for each in (by_fhir, by_x12))
    assert first.query.model_dump(exclude={"subscriber"}) == second.query.model_dump(exclude={"subscriber"})
    assert first.query.subscriber.member_id == second.query.subscriber.member_id
    assert first.services == second.services


def test_a_pended_request_is_decided_later_and_both_channels_show_it() -> None:
    with PasClearinghouse(PENDED) as clearinghouse:
        pended = clearinghouse.submit(build_bundle())
        reference = find_extension(pended["item"][0], "administrationReferenceNumber")["valueString"]
        assert (pended["outcome"], action_of(pended)) == ("complete", ["A4"])
        assert "preAuthRef" not in pended
        before = clearinghouse.send(inquiry_278(101))
        clearinghouse.rig.playground.advance(timedelta(hours=5))
        [decided] = clearinghouse.inquire(build_inquiry())
        after = clearinghouse.send(inquiry_278(102))
    assert segments_of(before, "HCR")[0].startswith("HCR*A4")
    assert f"REF*NT*{reference}" in segments_of(before, "REF")
    assert decided["id"] == reference
    assert action_of(decided) == ["A1", decided["preAuthRef"]]
    assert segments_of(after, "HCR")[0] == f"HCR*A1*{decided['preAuthRef']}"


@pytest.mark.parametrize("is_fhir_first", [True, False])
def test_a_duplicate_is_found_across_both_channels(is_fhir_first: bool) -> None:
    with PasClearinghouse() as clearinghouse:
        if is_fhir_first:
            clearinghouse.submit(build_bundle())
            assert segments_of(clearinghouse.send(one("278", authorization("PA2"))), "AAA") == ["AAA*N**33*N"]
        else:
            clearinghouse.send(one("278", authorization()))
            response = clearinghouse.submit(build_bundle("PA2"))
            [error] = response["error"]
            assert response["outcome"] == "error"
            assert error["code"]["coding"][0] == {"system": "https://codesystem.x12.org/005010/901", "code": "33"}
            assert error["code"]["text"].startswith("The same request exists already")
        assert len(payer_of(clearinghouse).current.authorizations) == 1


def test_a_request_of_a_278_is_updated_and_cancelled_over_fhir() -> None:
    prior = {**build_bundle("PA1E")["entry"][0]["resource"], "id": "prior"}
    related = [{**PRIOR, "claim": {"reference": "Claim/prior"}}]
    with PasClearinghouse() as clearinghouse:
        clearinghouse.send(one("278", authorization("PA1E")))
        changed = build_bundle("PA2E", item(quantity={"value": 2}), related=related)["entry"][0]["resource"]
        updated = clearinghouse.submit(wrap(changed, prior, *RESOURCES))
        [record] = payer_of(clearinghouse).current.authorizations.values()
        number = record.number
        assert (updated["id"], record.query.services[0].quantity) == (record.id, 2)
        cancel = [extension("certificationType", valueCodeableConcept=code(f"{X12}/1322", "3"))]
        whole = build_bundle("PA3E", extension=cancel, related=[{**PRIOR, "reference": {"value": number}}])
        cancelled = clearinghouse.submit(whole)
        [record] = payer_of(clearinghouse).current.authorizations.values()
    assert (action_of(cancelled), record.status) == (["C"], "cancelled")
    assert find_extension(cancelled["item"][0], "authorizationNumber")["valueString"] == number


def test_an_item_that_is_cancelled_is_taken_out_of_the_request() -> None:
    rules = {"authorization_required": [{"procedure_codes": ["72148", "70551"]}], "determinations": []}
    cancelled = {"url": extension("").get("url", "").replace("extension-", "modifierextension-infoCancelled")}
    with PasClearinghouse(rules) as clearinghouse:
        first = clearinghouse.submit(build_bundle("PA1", item(1), item(2, "70551")))
        flag = [{**cancelled, "valueBoolean": True}]
        changed = build_bundle("PA2", item(1), item(2, "70551", "3", modifierExtension=flag), related=[PRIOR])
        changed["entry"][0]["resource"]["insurance"][0]["preAuthRef"] = [first["id"]]
        response = clearinghouse.submit(changed)
        [record] = payer_of(clearinghouse).current.authorizations.values()
    assert len(first["item"]) == 2
    assert [each["itemSequence"] for each in response["item"]] == [1]
    assert [each.procedure_code for each in record.services] == ["72148"]


def test_questions_of_the_payer_are_asked_and_answered() -> None:
    with PasClearinghouse(ASKED) as clearinghouse:
        bundle = orjson.loads(clearinghouse.call("submit", build_bundle()).body)
        response, question = (bundle["entry"][place]["resource"] for place in (0, 1))
        assert action_of(response) == ["A4"]
        assert response["communicationRequest"] == [{"reference": bundle["entry"][1]["fullUrl"]}]
        assert question["payload"][0]["contentString"] == "QUESTION red_flags (boolean) - Are there warning signs?"
        message = {"sequence": 1, "category": code("x", "freeFormMessage"), "valueString": "red_flags=no"}
        answered = build_bundle(
            "PA2", supportingInfo=[message], related=[{**PRIOR, "reference": {"value": response["id"]}}]
        )
        assert action_of(clearinghouse.submit(answered))[0] == "A1"


def test_a_service_that_needs_no_authorization_is_answered_so() -> None:
    with PasClearinghouse() as clearinghouse:
        response = clearinghouse.submit(build_bundle("PA1", item(procedure="99213")))
        assert (response["outcome"], action_of(response)) == ("complete", ["NA"])
        assert response["disposition"] == "No authorization is needed for 99213."
        assert clearinghouse.inquire(build_inquiry()) == []


def test_an_inquiry_names_what_it_asks_for() -> None:
    rules = {"authorization_required": [{"procedure_codes": ["72148", "70551"]}], "determinations": []}
    with PasClearinghouse(rules) as clearinghouse:
        spine = clearinghouse.submit(build_bundle("PA1", item()))
        head = clearinghouse.submit(build_bundle("PA2", item(procedure="70551")))
        reply = clearinghouse.call("inquire", build_inquiry())
        by_code = clearinghouse.inquire(build_inquiry(item=[item(procedure="70551")]))
        number = [extension("administrationReferenceNumber", valueString=spine["id"])]
        asked = {"sequence": 1, "productOrService": {"text": "any"}, "extension": number}
        by_number = clearinghouse.inquire(build_inquiry(item=[asked]))
    model: Any = Parameters.model_validate_json(reply.body)
    assert [each.resource.entry[0].resource.id for each in model.parameter] == [spine["id"], head["id"]]
    assert [each["id"] for each in by_code] == [head["id"]]
    assert [each["id"] for each in by_number] == [spine["id"]]


@pytest.mark.parametrize(
    ("change", "reason", "text", "path"),
    [
        ({"subscriberId": "NW00000"}, "75", "There is no member with this id.", "Claim.insurance.coverage"),
        ({"payor": "NW999"}, "T4", "There is no payer with the number NW999.", "Claim.insurer"),
    ],
)
def test_what_the_payer_rejects_is_said_with_the_codes_of_aaa(
    change: dict[str, str], reason: str, text: str, path: str
) -> None:
    bundle = build_bundle()
    for entry in bundle["entry"]:
        if entry["resource"]["id"] == "policy" and "subscriberId" in change:
            entry["resource"] |= change
        if entry["resource"]["id"] == "payer" and "payor" in change:
            entry["resource"]["identifier"] = [{"value": change["payor"]}]
    with PasClearinghouse() as clearinghouse:
        response = clearinghouse.submit(bundle)
    [error] = response["error"]
    assert response["outcome"] == "error"
    assert (error["code"]["coding"][0]["code"], error["code"]["text"]) == (reason, text)
    assert find_extension(error, "errorFollowupAction")["valueCodeableConcept"]["coding"][0]["code"] == "C"
    assert find_extension(error, "errorPath")["valueString"] == path


def test_bad_bundles_are_refused_with_path_and_reason() -> None:
    claim = "Bundle.entry[0].resource"
    bare = item()
    del bare["extension"]
    away = {"reference": "Organization/away"}
    appeal, reserved = item(certification="1"), item()
    reserved["extension"][1] = extension("serviceItemRequestType", valueCodeableConcept=code(f"{X12}/1525", "IN"))
    swapped = build_bundle()
    swapped["entry"][1]["fullUrl"] = swapped["entry"][2]["fullUrl"]
    swapped["entry"][2]["fullUrl"] = "urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a"
    cases = {
        f"{claim}.insurer": build_bundle(insurer=None),
        f"{claim}.item": build_bundle(item=None),
        f"{claim}.use": build_bundle(use="claim"),
        f"{claim}.provider": build_bundle(provider=away),
        f"{claim}.item[0].extension": build_bundle("PA1", bare),
        f"{claim}.item.extension": build_bundle("PA1", appeal),
        f"{claim}.item[1].extension": build_bundle("PA1", item(), reserved),
        f"{claim}.item[0].quantity": build_bundle("PA1", item(quantity={"value": 0})),
        f"{claim}.related": build_bundle("PA1", item(certification="S")),
        f"{claim}.status": build_bundle(status=None),
        f"{claim}.insurance": build_bundle(insurance=[{"sequence": 1, "focal": False, "coverage": {"display": "?"}}]),
        f"{claim}.item[0].category": build_bundle("PA1", item(category=code("http://loinc.org", "62"))),
        f"{claim}.diagnosis[0].diagnosisCodeableConcept": build_bundle(
            diagnosis=[{"sequence": 1, "diagnosisCodeableConcept": code("http://loinc.org", "1")}]
        ),
        "Bundle.entry[1].fullUrl": swapped,
        "Bundle.timestamp": {**build_bundle(), "timestamp": None},
        "Bundle.type": {**build_bundle(), "type": "searchset"},
        claim: wrap(*RESOURCES),
        "Bundle": {"resourceType": "Patient"},
        "Bundle.entry": {**build_bundle(), "entry": []},
    }
    with PasClearinghouse() as clearinghouse:
        for path, bundle in cases.items():
            sent = {name: value for name, value in bundle.items() if value is not None}
            assert clearinghouse.refuse(sent)[0] == path, path
        assert clearinghouse.refuse(build_bundle(provider=away))[1].endswith("`Organization/away` is not in the Bundle")
        assert clearinghouse.call("submit", b"{").status == 400
        assert clearinghouse.count("sandbox.refused") == len(cases) + 2
        assert not payer_of(clearinghouse).current.authorizations


def list_paths(data: Any) -> Iterator[list[str]]:
    """Yield the path of every value in data."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield [str(key)]
        yield from ([str(key), *rest] for rest in list_paths(value))


def test_no_changed_value_breaks_the_server_or_its_answer() -> None:
    own = {"reference": "Claim/claim"}
    info = {"sequence": 1, "category": code("x", "additionalInformation"), "valueReference": own}
    bundle = build_bundle("PA1", item(), supportingInfo=[info], related=[{**PRIOR, "claim": own}])
    junk: Iterator[Any] = cycle([None, {}, [], "x", -1, True, [{}], "9999-12-31", own, {"coding": [{}]}])
    with PasClearinghouse() as clearinghouse:
        for number, path in enumerate(list_paths(bundle)):
            changed = deepcopy(bundle)
            set_value(changed, path, next(junk))
            reply = clearinghouse.call("inquire" if number % 3 == 0 else "submit", changed)
            assert reply.status in (200, 400), path
            assert validate(orjson.loads(reply.body)) == [], path


def test_the_server_says_what_it_does_and_refuses_the_rest_by_name() -> None:
    with PasClearinghouse() as clearinghouse:
        statement = clearinghouse.get("/fhir/metadata")
        assert validate(statement) == []
        [resource] = statement["rest"][0]["resource"]
        assert [each["name"] for each in resource["operation"]] == ["submit", "inquire"]
        for method, path in (("GET", "/fhir/Patient/1"), ("POST", "/fhir/Subscription"), ("DELETE", "/fhir/Claim/1")):
            reply = clearinghouse.rig.send(Request(method, path))
            [issue] = orjson.loads(reply.body)["issue"]
            assert (reply.status, issue["code"]) == (404, "not-supported")
            assert f"`{path.removeprefix('/fhir/')}` is not supported" in issue["diagnostics"]
        xml = Request("POST", "/fhir/Claim/$submit", {}, {"content-type": "application/fhir+xml"}, b"<Bundle/>")
        assert clearinghouse.rig.send(xml).status == 415


def test_attacks_change_a_claim() -> None:
    attack, body = X12Attack(), orjson.dumps(build_bundle())
    request = Request("POST", "/fhir/Claim/$submit", {}, {}, body)
    harms: tuple[Harm, ...] = ("amount", "note")
    amount, note = (attack.harm(request, kind) for kind in harms)
    assert amount is not None
    assert note is not None
    with PasClearinghouse() as clearinghouse:
        clearinghouse.submit(amount.body)
        [record] = payer_of(clearinghouse).current.authorizations.values()
        assert record.query.services[0].quantity == 9999
    with PasClearinghouse() as clearinghouse:
        clearinghouse.submit(note.body)
        [record] = payer_of(clearinghouse).current.authorizations.values()
        assert "John Otherman" in record.query.note
