"""The REST API: the records, checks and words of the pages."""

from typing import Any

import orjson
import pytest
from PIL import Image

from clerkship.playground.handlers import RequestContext
from clerkship.sandbox.authentication.password import encode_basic
from clerkship.sandbox.handle import Refused
from clerkship.sandbox.request import Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.portal.drafts import MAX_LOOSE_DOCUMENTS
from clerkship.simulators.portal.steps.inbox import PutLetter
from tests.simulators.portal.portal_site import PortalSite, fill_in_steps

PERSON = {"payer": "NW001", "member_id": "NW55501", "birth_date": "1980-02-14"}
MRI: dict[str, Any] = {
    "review": "services",
    "urgency": "standard",
    "place": "22",
    "servicing_npi": "1987654320",
    "diagnoses": ["M5416"],
    "services": [{"code": "72148", "units": 1, "frequency": "once", "start": "2026-03-16", "end": "2026-03-16"}],
    "contact_name": "Maya Okafor",
    "contact_phone": "555-010-0140",
}


def look_up(site: PortalSite) -> str:
    ref: str = site.portal.api("POST", "/members/lookup", PERSON)["ref"]
    return ref


def answer_questions(site: PortalSite, codes: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """Answer the questions as they appear."""
    answers: dict[str, Any] = {}
    while True:
        asked = site.portal.api("POST", "/questions", {"procedure_codes": codes, "answers": answers})["questions"]
        new = [each for each in asked if each["id"] not in answers]
        if not new:
            return answers
        for each in new:
            usual = {"number": 9, "boolean": False, "date": "2026-02-16", "text": "None."}
            value = each["choices"][-1] if each["choices"] else usual[each["type"]]
            answers[each["id"]] = known.get(each["id"], value)


def build_mri(site: PortalSite, weeks: int = 9, **changes: Any) -> dict[str, Any]:
    answers = answer_questions(site, ["72148"], {"conservative_therapy_weeks": weeks, "red_flags": False})
    return {**MRI, "member": look_up(site), "answers": answers, "attest": True, **changes}


def refuse(site: PortalSite, method: str, path: str, data: Any = None, query: Any = None) -> tuple[int, Any]:
    with pytest.raises(Refused) as refused:
        site.portal.api(method, path, data, query)
    return refused.value.reply.status, orjson.loads(refused.value.reply.body)["error"]


def draw_png(tmp_path: Any) -> bytes:
    path = tmp_path / "scan.png"
    Image.new("L", (60, 80), 255).save(path)
    data: bytes = path.read_bytes()
    return data


def test_a_request_that_is_submitted_at_once_is_in_the_list_and_on_the_page() -> None:
    with PortalSite() as site:
        answer = site.portal.api("POST", "/requests", build_mri(site))
        request = answer["request"]
        assert answer["is_needed"]
        assert request["diagnoses"][0]["code"] == "M54.16"
        assert request["contact"] == "Maya Okafor, 555-010-0140"
        assert site.last("portal.request.filed").reference == request["reference"]
        assert (site.last("portal.request.filed").session, site.last("portal.request.filed").draft) == (0, "")
        listed = site.portal.api("GET", "/requests", query={"member_id": "NW55501"})
        assert [each["reference"] for each in listed["requests"]] == [request["reference"]]
        assert request["reference"] in site.sign_in().open(f"/requests/{request['reference']}").text


def test_the_api_and_the_pages_file_the_same_request() -> None:
    with PortalSite() as pages, PortalSite() as api:
        fill_in_steps(pages.sign_in())
        api.portal.api("POST", "/requests", build_mri(api))
        [filed] = pages.payer.current.authorizations.values()
        [sent] = api.payer.current.authorizations.values()
        fields = ("review", "services", "diagnoses", "place", "is_urgent", "provider_id", "subscriber")
        assert [getattr(filed.query, name) for name in fields] == [getattr(sent.query, name) for name in fields]
        assert filed.status == sent.status


def test_everything_that_is_missing_is_refused_by_field_in_the_words_of_the_pages() -> None:
    with PortalSite() as site:
        status, error = refuse(site, "POST", "/requests", {})
        texts = {each["field"]: each["text"] for each in error["problems"]}
        assert (status, error["code"]) == (422, "invalid_input")
        assert texts["member"] == "Find the patient and choose them."
        assert texts["attest"] == "Confirm that the information is complete and correct."
        refused = site.last("portal.submit.refused")
        assert (refused.session, refused.page, refused.html) == (0, "submit_request", b"")
        assert list(refused.problems) == error["problems"]
        assert site.payer.current.authorizations == {}
        assert site.state.drafts == {}


def test_a_duplicate_is_refused_with_the_reason_of_the_payer() -> None:
    with PortalSite() as site:
        data = build_mri(site)
        site.portal.api("POST", "/requests", data)
        assert refuse(site, "POST", "/requests", data)[1]["reason"] == "duplicate_request"
        assert len(site.payer.current.authorizations) == 1


def test_a_service_that_needs_no_authorization_is_not_filed() -> None:
    with PortalSite() as site:
        service = {"code": "99213", "start": "2026-03-16"}
        data = {**MRI, "member": look_up(site), "services": [service], "attest": True}
        answer = site.portal.api("POST", "/requests", data)
        assert answer == {"is_needed": False, "text": answer["text"], "request": None}
        assert answer["text"]
        need = site.portal.api("GET", "/authorization-need", query={"code": "99213", "member": data["member"]})
        assert need["result"] == "not_required"


def test_a_draft_is_changed_in_parts_and_submitted_once() -> None:
    with PortalSite() as site:
        data = build_mri(site)
        attest = {"attest": data.pop("attest")}
        draft = site.portal.api("POST", "/drafts", {"member": data["member"]})
        path = f"/drafts/{draft['id']}"
        assert {"field": "review", "text": "Choose what you request."} in draft["problems"]
        bad = {"services": [{"code": "72148", "start": "tomorrow"}]}
        assert refuse(site, "PATCH", path, bad)[1]["problems"][0]["field"] == "start"
        assert site.portal.api("PATCH", path, data)["problems"] == []
        assert site.portal.api("GET", path)["services"][0]["code"] == "72148"
        reference = site.portal.api("POST", f"{path}/submit", attest)["request"]["reference"]
        status, error = refuse(site, "POST", f"{path}/submit", attest)
        assert status == 409
        assert reference in error["message"]


def test_a_refused_draft_is_not_begun() -> None:
    with PortalSite() as site:
        error = refuse(site, "POST", "/drafts", {"diagnoses": ["XYZ"]})[1]
        assert "XYZ" in error["message"]
        assert site.state.drafts == {}


def test_a_document_is_uploaded_sent_with_an_appeal_and_not_used_twice(tmp_path: Any) -> None:
    with PortalSite() as site:
        path = f"/requests/{site.portal.api('POST', '/requests', build_mri(site, weeks=1))['request']['reference']}"
        document = site.portal.upload("/documents", "scan.png", draw_png(tmp_path), "imaging_report")
        query = {"name": "other.png"}
        raw = site.portal.request("POST", "/api/documents", query=query, body=draw_png(tmp_path), media="image/png")
        other = orjson.loads(raw.body)["id"]
        assert site.portal.download(f"/api/documents/{document['id']}/content").body == draw_png(tmp_path)
        appeal = {"reason": "It got worse.", "documents": [document["id"]]}
        assert len(site.portal.api("POST", f"{path}/appeal", appeal)["appeals"]) == 1
        assert site.last("portal.appeal.submitted").documents == (document["id"],)
        error = refuse(site, "POST", "/requests", build_mri(site, documents=[document["id"]]))[1]
        assert error["problems"] == [{"field": "documents", "text": "scan.png was used already. Upload it again."}]
        assert refuse(site, "DELETE", f"/documents/{document['id']}")[0] == 409
        assert site.portal.api("DELETE", f"/documents/{other}") is None
        assert refuse(site, "GET", f"/documents/{other}")[0] == 404


def test_a_question_of_the_payer_is_answered_with_a_document(tmp_path: Any) -> None:
    rule = {"status": "need_more_info", "questions": [{"id": "note", "text": "Send the note.", "type": "attachment"}]}
    with PortalSite(payer={"determinations": [{**rule, "then": [{"status": "approved"}]}]}) as site:
        request = site.portal.api("POST", "/requests", build_mri(site))["request"]
        path = f"/requests/{request['reference']}"
        assert [each["id"] for each in request["questions"]] == ["note"]
        assert refuse(site, "POST", f"{path}/reply", {})[1]["problems"][0]["field"] == "answer_note"
        document = site.portal.upload("/documents", "scan.png", draw_png(tmp_path), "clinical_note")
        assert site.portal.api("POST", f"{path}/reply", {"documents": [document["id"]]})["status"] == "approved"
        documents = site.portal.api("GET", f"{path}/documents")["documents"]
        assert [each["id"] for each in documents] == [document["id"]]


def test_an_approval_is_changed_and_withdrawn() -> None:
    with PortalSite() as site:
        path = f"/requests/{site.portal.api('POST', '/requests', build_mri(site))['request']['reference']}"
        message = refuse(site, "POST", f"{path}/change", {})[1]["message"]
        assert message == "Nothing differs from the request. Change a field first."
        changed = site.portal.api("POST", f"{path}/change", {"services": [{"line": 1, "end": "2026-03-20"}]})
        assert changed["lines"][0]["end"] == "2026-03-20"
        assert site.portal.api("POST", f"{path}/withdraw")["status"] == "cancelled"
        assert refuse(site, "POST", f"{path}/withdraw")[0] == 409


def test_reads_are_logged_as_the_page_that_shows_the_same() -> None:
    with PortalSite() as site:
        ref = look_up(site)
        site.portal.api("GET", f"/members/{ref}/eligibility", query={"service_date": "2026-03-16"})
        viewed = site.last("portal.page.viewed")
        assert (viewed.session, viewed.page, viewed.records) == (0, "member", ("member/NW001/NW55501/0",))
        assert viewed.shown["status"] == "active"
        assert viewed.html == b""
        assert refuse(site, "GET", "/requests/R1")[0] == 404
        assert site.last("portal.page.viewed").shown["status"] == 404


def test_lookups_find_members_providers_codes_and_claims() -> None:
    with PortalSite() as site:
        api = site.portal.api
        assert [each["id"] for each in api("GET", "/payers")["payers"]] == ["NW001", "SW002"]
        error = refuse(site, "POST", "/members/lookup", {**PERSON, "birth_date": "1980-02-15"})[1]
        assert error["problems"][0]["field"] == "birth_date"
        assert [each["npi"] for each in api("GET", "/providers", query={"name": "harbor"})["providers"]] == [
            "1987654320"
        ]
        assert api("GET", "/providers/1987654320")["name"] == "Harbor Imaging"
        assert refuse(site, "GET", "/providers/1")[0] == 404
        codes = api("GET", "/codes", query={"list": "procedure", "text": "72148"})["codes"]
        assert [each["code"] for each in codes] == ["72148"]
        assert api("GET", "/codes", query={"list": "place", "text": "22"})["codes"][0]["code"] == "22"
        claims = api("GET", "/claims", query={**PERSON, "family": "Rivera", "given": "Ana"})["claims"]
        assert [each["number"] for each in claims] == ["NWC451"]
        assert api("GET", "/claims/NWC451")["reason"] == "missing_notes"
        assert api("GET", "/inbox")["letters"] == []


def test_a_closed_api_and_an_account_without_rights_are_refused() -> None:
    with PortalSite(api=False) as site:
        for path in ("/requests", "/openapi.json", "/nothing"):
            status, error = refuse(site, "GET", path)
            assert (status, "closed" in error["message"]) == (404, True)
    user = {"username": "a", "name": "A", "rights": ["claims"]}
    with PortalSite(user=user) as site:
        assert refuse(site, "GET", "/requests")[0] == 403


def test_an_unknown_path_and_a_missing_credential_are_refused_as_json() -> None:
    with PortalSite() as site:
        assert refuse(site, "GET", "/nothing")[0] == 404
        call = HttpCall(Request("GET", "/api/requests"), "http://box.invalid")
        reply = site.rig.gateway.handle(RequestContext(site.rig.playground.id, site.rig.name, call, ""))
        assert reply.status == 401
        assert "error" in orjson.loads(reply.body)


def test_user_name_and_password_of_the_pages_open_the_api_over_http() -> None:
    with PortalSite() as site:
        for password, status in ((site.portal.token, 200), ("wrong", 401)):
            headers = {"authorization": f"Basic {encode_basic('m.okafor', password)}"}
            assert site.rig.send_http(Request("GET", "/api/requests"), headers).status == status
        for path in ("/api", "/api/", "/api/openapi.json"):
            assert b'"openapi":"3.1.0"' in site.rig.send_http(Request("GET", path)).body


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"review": "banana"}, "review", "The request type is not one of those listed. Choose one of them."),
        ({"urgency": "banana"}, "urgency", "The urgency is not one of those listed. Choose one of them."),
        ({"services": [{"code": "72148", "unit": "banana", "start": "2026-03-16"}]}, "unit", "The unit is not one of"),
        ({"answers": {"no_such": "yes"}}, "answer_no_such", "No question has the id “no_such”."),
    ],
)
def test_a_value_that_is_not_listed_is_refused_and_not_left_out(changes: dict[str, Any], field: str, text: str) -> None:
    with PortalSite() as site:
        draft = site.portal.api("POST", "/drafts", {"member": look_up(site), "review": "services"})
        [problem] = refuse(site, "PATCH", f"/drafts/{draft['id']}", changes)[1]["problems"]
        assert problem["field"] == field
        assert text in problem["text"]
        assert site.portal.api("GET", f"/drafts/{draft['id']}")["revision"] == draft["revision"]


def test_a_change_of_a_procedure_that_is_not_there_is_refused() -> None:
    with PortalSite() as site:
        path = f"/requests/{site.portal.api('POST', '/requests', build_mri(site))['request']['reference']}"
        changes = {"place": "11", "services": [{"line": 2, "units": 3}]}
        [problem] = refuse(site, "POST", f"{path}/change", changes)[1]["problems"]
        assert problem == {"field": "services", "text": "The request has no procedure 2; it has 1."}
        [request] = site.payer.current.authorizations.values()
        assert request.query.place == "22"


def test_documents_that_belong_to_nothing_have_a_limit(tmp_path: Any) -> None:
    with PortalSite() as site:
        picture = draw_png(tmp_path)
        for n in range(MAX_LOOSE_DOCUMENTS):
            first = site.portal.upload("/documents", f"{n}.png", picture)
        with pytest.raises(Refused, match="Use or remove some of them") as refused:
            site.portal.upload("/documents", "more.png", picture)
        assert refused.value.reply.status == 409
        site.portal.api("DELETE", f"/documents/{first['id']}")
        site.portal.upload("/documents", "more.png", picture)
        assert len(site.state.documents) == MAX_LOOSE_DOCUMENTS


def test_a_letter_about_nothing_names_no_request() -> None:
    with PortalSite() as site:
        PutLetter.model_validate({"subject": "Hello", "text": "One.", "payer": "NW001"}).run(site.rig.playground)
        [letter] = site.state.letters
        site.portal.api("GET", f"/inbox/{letter}")
        assert site.last("portal.page.viewed").records == (f"letter/{letter}",)
        site.sign_in().open(f"/inbox/{letter}")
        assert site.last("portal.page.viewed").records == (f"letter/{letter}",)
