"""Faxes through the Sinch API: sending, statuses, lists, files and what is refused."""

import base64
from typing import Any

import httpx
import pytest

from clerkship.sandbox.request import Request
from clerkship.simulators.fax.events import FaxRefused
from clerkship.simulators.fax.sinch.operations import parse_time_range
from tests.simulators.fax.sinch.clinic import BUSY, LAB, OWN, SECOND, SILENT, TEXT, TORN, UNKNOWN, VOICE, FaxingClinic

NOTE = {"file": base64.b64encode(b"A note.").decode(), "fileType": "TXT"}


def test_a_fax_is_queued_and_completed_with_its_pages(clinic: FaxingClinic) -> None:
    fax = clinic.create(headerText="Front desk", labels={"case": "17"}, maxRetries=1, **{"from": SECOND})
    assert (fax["status"], fax["direction"], fax["numberOfPages"]) == ("QUEUED", "OUTBOUND", 2)
    assert (fax["from"], fax["to"], fax["headerText"], fax["labels"]) == (SECOND, LAB, "Front desk", {"case": "17"})
    assert "completedTime" not in fax
    clinic.pass_time()
    done = clinic.json("GET", f"/faxes/{fax['id']}")
    assert (done["status"], done["pagesSentSuccessfully"], done["retryCount"]) == ("COMPLETED", 2, 0)
    assert done["completedTime"] > done["createTime"]
    assert "errorCode" not in done


@pytest.mark.parametrize(
    ("number", "error", "code", "retries", "pages"),
    [
        (BUSY, "CALL_ERROR", 17, 1, 0),
        (SILENT, "CALL_ERROR", 16, 1, 0),
        (TORN, "FAX_ERROR", 131, 1, 1),
        (VOICE, "FAX_ERROR", 132, 1, 0),
        (UNKNOWN, "CALL_ERROR", 34, 0, 0),
    ],
)
def test_a_fax_that_fails_has_the_error_of_sinch(
    clinic: FaxingClinic, number: str, error: str, code: int, retries: int, pages: int
) -> None:
    fax = clinic.create(to=number, maxRetries=1)
    clinic.pass_time("30s")
    assert clinic.json("GET", f"/faxes/{fax['id']}")["status"] in ("IN_PROGRESS", "FAILURE")
    clinic.pass_time()
    done = clinic.json("GET", f"/faxes/{fax['id']}")
    assert (done["status"], done["errorType"], done["errorCode"]) == ("FAILURE", error, code)
    assert (done["retryCount"], done["pagesSentSuccessfully"]) == (retries, pages)


def test_several_recipients_get_a_fax_each_and_a_bad_one_stops_all(clinic: FaxingClinic) -> None:
    sent = clinic.create(to=[LAB, BUSY, LAB])["faxes"]
    assert [fax["to"] for fax in sent] == [LAB, BUSY]
    refused = clinic.send("POST", "/faxes", {"to": [LAB, "banana"], "files": [NOTE]})
    assert refused.status == 400
    assert len(clinic.state.faxes) == 2


def test_a_form_sends_its_files_in_order(clinic: FaxingClinic) -> None:
    parts: list[tuple[str, str | bytes, str | None]] = [
        ("to", LAB, None),
        ("to", BUSY, None),
        ("headerPageNumbers", "true", None),
        ("retryDelaySeconds", "30", None),
        ("maxRetries", "2", None),
        ("labels", '{"case": "17"}', None),
        ("file", "First", "one.txt"),
        ("file", TEXT, "two.txt"),
    ]
    reply = clinic.send_form(parts)
    assert reply.status == 200
    [record, _] = clinic.state.faxes.values()
    header = record.header
    assert [(part.name, len(part.pages)) for part in header.parts] == [("one.txt", 1), ("two.txt", 2)]
    assert (header.max_retries, header.retry_delay, header.labels) == (2, 30, {"case": "17"})


def test_lists_are_filtered_and_paged_newest_first(clinic: FaxingClinic) -> None:
    arrived = clinic.receive()
    sent = [clinic.create(text=f"Number {n}")["id"] for n in range(3)]
    first = clinic.json("GET", "/faxes", query={"pageSize": "3"})
    assert [fax["id"] for fax in first["faxes"]] == sent[::-1]
    assert (first["page"], first["totalPages"], first["totalItems"]) == (1, 2, 4)
    second = clinic.json("GET", "/faxes", query={"pageSize": "3", "page": "2"})
    assert [fax["id"] for fax in second["faxes"]] == [arrived]
    today = first["faxes"][0]["createTime"][:10]
    filters: list[tuple[dict[str, str], int]] = [
        ({"direction": "INBOUND"}, 1),
        ({"status": "COMPLETED"}, 1),
        ({"status": "QUEUED"}, 3),
        ({"to": " 1555010030"}, 3),  # the SDK does not percent-encode the plus sign
        ({"from": "+15550100300"}, 1),
        ({"createTime": today}, 4),
        ({"createTime": "2020"}, 0),
        ({"createTime>": today}, 4),
        ({"createTime<": "2020-01"}, 0),
        ({"page": "9"}, 0),
    ]
    for query, count in filters:
        assert len(clinic.json("GET", "/faxes", query=query)["faxes"]) == count, query


def test_the_file_is_a_pdf_until_it_is_deleted(clinic: FaxingClinic) -> None:
    id = clinic.receive(pages=2)
    file = clinic.send("GET", f"/faxes/{id}/file.pdf")
    assert (file.status, file.media, file.body[:5]) == (200, "application/pdf", b"%PDF-")
    assert file.headers["Content-Disposition"] == f'attachment; filename="{id}.pdf"'
    assert clinic.send("GET", f"/faxes/{id}/file.tiff").body[:2] == b"II"
    assert clinic.send("GET", f"/faxes/{id}/file.docx").status == 404
    assert not clinic.state.faxes[id].is_unread
    assert clinic.send("DELETE", f"/faxes/{id}/file").status == 204
    assert clinic.send("GET", f"/faxes/{id}/file.pdf").status == 410
    assert clinic.json("GET", f"/faxes/{id}")["hasFile"] is False


def test_the_service_has_the_numbers_and_cannot_be_changed_otherwise(clinic: FaxingClinic) -> None:
    [service] = clinic.json("GET", "/services")["services"]
    assert (service["defaultFrom"], service["incomingWebhookUrl"]) == (OWN, "")
    numbers = clinic.json("GET", f"{clinic.service}/numbers")["numbers"]
    assert [each["phoneNumber"] for each in numbers] == [OWN, SECOND]
    assert clinic.send("PATCH", clinic.service, {"name": "New"}).status == 400
    for method, path in (("POST", "/services"), ("DELETE", clinic.service), ("POST", f"{clinic.service}/coverPages")):
        reply = clinic.send(method, path)
        assert (reply.status, b"UNIMPLEMENTED" in reply.body) == (501, True)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"to": LAB, "contentUrl": "https://example.com/fax.pdf"}, 400, "url_not_fetched"),
        ({"to": LAB, "contentUrl": ["http://127.0.0.1:22/"], "files": [NOTE]}, 400, "url_not_fetched"),
        ({"to": LAB, "files": [NOTE], "coverPageId": "1"}, 400, "invalid_argument"),
        ({"to": LAB, "files": [NOTE], "resolution": "SUPERFINE"}, 400, "invalid_argument"),
        ({"to": LAB, "files": [NOTE], "serviceId": "other"}, 404, "no_such_service"),
        ({"to": LAB, "files": [NOTE], "callbackUrl": "ftp://127.0.0.1/"}, 400, "invalid_argument"),
        ({"to": LAB, "files": [NOTE], "callbackUrl": "http://192.0.2.1/"}, 400, "invalid_argument"),
        ({"to": LAB, "files": [NOTE], "from": LAB}, 400, "not_own_number"),
        ({"to": LAB, "files": [NOTE], "maxRetries": 6}, 400, "invalid_retries"),
        ({"to": LAB, "files": [NOTE], "headerText": "x" * 51}, 400, "invalid_text"),
        ({"to": LAB, "files": []}, 400, "no_documents"),
        ({"to": LAB, "files": [{"file": "TVqQAAMAAAA=", "fileType": "PDF"}]}, 415, "unknown_format"),
        ({"to": "banana", "files": [NOTE]}, 400, "invalid_number"),
    ],
)
def test_a_refused_fax_has_a_clear_error_and_an_event(
    clinic: FaxingClinic, body: dict[str, Any], status: int, reason: str
) -> None:
    error = clinic.json("POST", "/faxes", body)["error"]
    assert (error["code"], error["details"][0]["reason"]) == (status, reason)
    [refused] = [event.payload for event in clinic.playground.log.events if isinstance(event.payload, FaxRefused)]
    assert refused.code == reason
    assert not clinic.state.faxes


def test_the_service_has_one_cover_page_which_is_drawn_before_the_files(clinic: FaxingClinic) -> None:
    [service] = clinic.json("GET", "/services")["services"]
    path = f"/services/{service['id']}/coverPages"
    [page] = clinic.json("GET", path)["coverPages"]
    assert clinic.json("GET", f"{path}/{page['id']}") == page
    assert clinic.json("GET", f"{path}/1")["error"]["code"] == 404
    assert clinic.json("POST", path, {"name": "Mine"})["error"]["code"] == 501
    data = {"subject": "Referral", "message": "Please call."}
    body = {"to": LAB, "files": [NOTE], "coverPageId": page["id"], "coverPageData": data}
    fax = clinic.json("POST", "/faxes", body)
    assert fax["numberOfPages"] == 2
    words = next(each.true_words for each in clinic.state.pages_of(fax["id"]))
    assert words is not None
    assert "Please call." in words.text
    assert "error" in clinic.json("POST", "/faxes", {**body, "coverPageData": {"colour": "red"}})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"to": []},
        {"to": 17, "files": [NOTE]},
        {"to": [f"+1555010{n:04}" for n in range(11)], "files": [NOTE]},
        {"to": LAB, "files": "x"},
        {"to": LAB, "files": ["x"]},
        {"to": LAB, "files": [{"file": "not base64!", "fileType": "PDF"}]},
        {"to": LAB, "files": [{"file": NOTE["file"], "fileType": "EXE"}]},
        {"to": LAB, "files": [{"file": 1}]},
        {"to": LAB, "files": [NOTE], "labels": {"a": 1}},
        {"to": LAB, "files": [NOTE], "labels": []},
        {"to": LAB, "files": [NOTE], "maxRetries": "many"},
        {"to": LAB, "files": [NOTE], "maxRetries": True},
        {"to": LAB, "files": [NOTE], "callbackUrlContentType": "text/xml"},
        [],
    ],
)
def test_a_malformed_fax_is_a_bad_request(clinic: FaxingClinic, body: Any) -> None:
    reply = clinic.send("POST", "/faxes", body)
    assert reply.status == 400
    assert "sandbox.refused" in clinic.kinds
    assert not clinic.playground.broken


@pytest.mark.parametrize(
    "query", [{"page": "0"}, {"page": "x"}, {"pageSize": "1001"}, {"createTime": "yesterday"}, {"status": "DONE"}]
)
def test_a_malformed_filter_is_a_bad_request(clinic: FaxingClinic, query: dict[str, str]) -> None:
    assert clinic.send("GET", "/faxes", query=query).status == 400


def test_another_project_and_an_unknown_fax_are_not_found(clinic: FaxingClinic) -> None:
    assert clinic.send("GET", "/faxes/unknown").status == 404
    other = Request("GET", "/v3/projects/00000000-0000-0000-0000-000000000000/faxes")
    reply = clinic.handle._transport.send(other)
    assert (reply.status, clinic.config.project.encode() in reply.body) == (404, True)


def test_an_access_token_expires_after_an_hour_of_simulated_time(clinic: FaxingClinic) -> None:
    oauth = clinic.handle.credentials["oauth2"]
    key, token_url = (str(oauth["client_id"]), str(oauth["client_secret"])), str(oauth["token_url"])
    grant = {"grant_type": "client_credentials"}
    with httpx.Client(trust_env=False) as client:
        token = client.post(token_url, data=grant, auth=key).json()
        assert (token["token_type"], token["expires_in"]) == ("Bearer", 3600)
        headers = {"authorization": f"Bearer {token['access_token']}"}
        url = f"{clinic.handle.url}{clinic.project}/faxes"
        assert client.get(url, headers=headers).status_code == 200
        assert client.get(url, auth=key).status_code == 200
        clinic.pass_time("61m")
        expired = client.get(url, headers=headers)
        assert (expired.status_code, expired.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
        assert "expired" in expired.headers["www-authenticate"]  # the SDK then gets another token
        wrong = client.post(token_url, data=grant, auth=(key[0], "wrong"))
        assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")
    assert token["access_token"] not in clinic.log


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2026-02-28", "2026-02-28", "2026-03-01"),
        ("2026-02-28T23:59:59Z", "2026-02-28", "2026-03-01"),
    ],
)
def test_a_time_is_the_range_that_it_states(text: str, start: str, end: str) -> None:
    parsed = parse_time_range("createTime", text)
    assert (f"{parsed.start:%Y-%m-%d}", f"{parsed.end:%Y-%m-%d}") == (start, end)
