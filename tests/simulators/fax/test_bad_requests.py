"""Requests with bad input: each is refused with a clear error and an event, and changes nothing else."""

import base64
import math
from typing import Any

import orjson
import pytest

from clerkship.sandbox.request import Request
from tests.simulators.fax.clinic import LAB, FaxClinic
from tests.simulators.fax.test_http import FORM, build_form

LONG_NAME = "a" * 256
TEXT = {"text": "x"}


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"to": ""}, "invalid_number"),
        ({"to": "12"}, "invalid_number"),
        ({"to": "+1555010030012345678"}, "invalid_number"),
        ({"to": "+15550100300\r\nX: y"}, "invalid_number"),
        ({"to": "+1" + "5" * 100_000}, "invalid_number"),
        ({"sender": "+15550000000"}, "not_own_number"),
        ({"sender": "me"}, "invalid_number"),
        ({"documents": []}, "no_documents"),
        ({"documents": [TEXT] * 21}, "too_many_documents"),
        ({"documents": [{"name": "a\r\nb", **TEXT}]}, "invalid_text"),
        ({"documents": [{"name": "a\0b", **TEXT}]}, "invalid_text"),
        ({"documents": [{"name": LONG_NAME, **TEXT}]}, "invalid_text"),
        ({"documents": [{"text": ""}]}, "no_pages"),
        ({"documents": [{"text": "\f" * 500 + "x"}]}, "too_many_pages"),
        ({"documents": [{"text": "a\f" * 101}, {"text": "a\f" * 100}]}, "too_many_pages"),
        ({"documents": [{"name": "a.pdf", "base64": encode(b"MZ\x90\0" * 50)}]}, "unknown_format"),
        ({"documents": [{"name": "a.pdf", "base64": encode(b"%PDF-1.4\n" + b"\0" * 50)}]}, "corrupt"),
        ({"header": "a\r\nb"}, "invalid_text"),
        ({"header": "\x1b[31m"}, "invalid_text"),
        ({"header": "a" * 51}, "invalid_text"),
        ({"max_retries": 6}, "invalid_retries"),
        ({"max_retries": -1}, "invalid_retries"),
        ({"retry_delay": -1}, "invalid_retries"),
        ({"retry_delay": 1e308}, "invalid_retries"),
        ({"labels": {"a": "b\nc"}}, "invalid_text"),
        ({"labels": {str(number): "x" for number in range(21)}}, "invalid_labels"),
        ({"in_reply_to": "fax_unknown"}, "no_such_fax"),
    ],
)
def test_fax_is_refused_with_one_event_and_no_other_change(fields: dict[str, Any], code: str) -> None:
    with FaxClinic() as clinic:
        before = clinic.state.dump()
        assert clinic.refusal(**fields) == code
        assert clinic.kinds == ["refused"]
        assert clinic.state.dump() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"documents": [{}]},
        {"documents": [{"text": "x", "base64": "eA=="}]},
        {"documents": [{"base64": "no base64"}]},
        {"documents": [{"base64": "ä"}]},
        {"documents": "x"},
        {"documents": [TEXT], "resolution": "superfine"},
        {"documents": [TEXT], "max_retries": "3"},
        {"documents": [TEXT], "retry_delay": math.nan},
        {"documents": [TEXT], "true_words": []},
        {"documents": [{**TEXT, "format": "pdf"}]},
        {"to": 5, "documents": [TEXT]},
    ],
)
def test_input_that_is_no_fax_is_refused(fields: dict[str, Any]) -> None:
    with FaxClinic() as clinic:
        reply = clinic.post(orjson.dumps({"to": LAB, **fields}))
        assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (422, "invalid_input")
        assert not clinic.state.faxes


@pytest.mark.parametrize(
    ("form", "status"),
    [
        (b"", 400),
        (b"--page", 400),
        (b"--page\r\n\r\nx\r\n--page--", 400),
        (build_form(("to", None, b"\xff")), 400),
        (build_form(("to", None, LAB.encode())), 422),
        (build_form(("to", None, LAB.encode()), ("to", None, LAB.encode()), ("text", None, b"x")), 422),
        (build_form(("to", None, LAB.encode()), ("max_retries", None, b"many"), ("text", None, b"x")), 422),
        (build_form(("to", None, LAB.encode()), ("retry_delay", None, b"nan"), ("text", None, b"x")), 422),
        (build_form(("to", None, LAB.encode()), ("unknown", None, b"1"), ("text", None, b"x")), 422),
        (build_form(("to", None, LAB.encode()), ("documents", None, b"1"), ("text", None, b"x")), 422),
        (build_form(*[("file", "a.txt", b"x")] * 300), 413),
        (build_form(("to", None, LAB.encode()), ("file", "a%0d%0aX: y.txt", b"")), 422),
    ],
)
def test_malformed_form_is_refused(form: bytes, status: int) -> None:
    with FaxClinic() as clinic:
        assert clinic.post(form, FORM).status == status
        assert not clinic.state.faxes
        assert clinic.rig.playground.broken is None


def test_folders_in_the_name_of_a_file_are_dropped() -> None:
    with FaxClinic() as clinic:
        form = build_form(("to", None, LAB.encode()), ("file", "../../etc/passwd", b"x"))
        assert orjson.loads(clinic.post(form, FORM).body)["documents"][0]["name"] == "passwd"


def test_huge_body_is_refused() -> None:
    with FaxClinic() as clinic:
        assert clinic.post(b'{"documents": "' + b"x" * 20_000_001 + b'"}').status == 413


@pytest.mark.parametrize(
    ("method", "path", "query", "status"),
    [
        ("GET", "/faxes/unknown", {}, 404),
        ("GET", "/faxes/" + "a" * 5000, {}, 404),
        ("GET", "/faxes/FAX/content", {"format": "docx"}, 422),
        ("GET", "/faxes/FAX/pages/0", {}, 404),
        ("GET", "/faxes/FAX/pages/3", {}, 404),
        ("GET", "/faxes/FAX/pages/-1", {}, 404),
        ("GET", "/faxes/FAX/pages/" + "9" * 1000, {}, 404),
        ("GET", "/faxes/FAX/pages/x", {}, 422),
        ("GET", "/faxes", {"status": "unknown"}, 422),
        ("GET", "/faxes", {"since": "yesterday"}, 422),
        ("GET", "/faxes", {"count": "0"}, 422),
        ("GET", "/faxes", {"after": "fax_unknown"}, 404),
        ("POST", "/faxes/unknown/read", {}, 404),
        ("DELETE", "/faxes/unknown/content", {}, 404),
        ("DELETE", "/faxes/FAX", {}, 405),
    ],
)
def test_request_for_what_does_not_exist_is_refused(method: str, path: str, query: dict[str, str], status: int) -> None:
    with FaxClinic() as clinic:
        id = clinic.receive()
        events = len(clinic.events)
        reply = clinic.rig.send(Request(method, path.replace("FAX", id), query))
        assert reply.status == status
        assert len(clinic.events) == events


def test_sent_fax_cannot_be_marked() -> None:
    with FaxClinic() as clinic:
        assert clinic.request("POST", f"/faxes/{clinic.send()['id']}/read").status == 409


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "127.0.0.1:80", "http://", "nonsense", "tcp://127.0.0.1:80"])
def test_webhook_that_is_no_url_is_refused(url: str) -> None:
    with FaxClinic() as clinic:
        assert clinic.request("POST", "/webhook", body=orjson.dumps({"url": url})).status == 400
        assert clinic.kinds == []


def test_faxes_beyond_the_limit_are_refused_but_still_arrive() -> None:
    with FaxClinic(max_faxes=1) as clinic:
        clinic.send()
        reply = clinic.post(orjson.dumps({"to": LAB, "documents": [TEXT]}))
        assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (429, "too_many_faxes")
        clinic.receive()
        assert clinic.kinds.count("arrived") == 1
