"""Parsing of multipart forms, sent by httpx and curl."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.transports.multipart import FormPart, parse_form
from tests.raw_routes import RawCall, raw_route
from tests.transports.site import Site, open_site

MEDIA = "multipart/form-data; boundary=b"


def list_parts(call: RawCall) -> Reply:
    """Return the parts that were received."""
    parts = parse_form(call.request)
    return json_reply(200, [[part.name, part.filename, part.media, part.data.hex()] for part in parts])


def render_nak(refusal: Refusal) -> Reply:
    return Reply(refusal.status, f"NAK {refusal.code}: {refusal.reason}".encode(), "text/plain")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_site(raw_route("POST", "/upload", "upload", list_parts), refuse=render_nak) as site:
        yield site


def parse_body(body: bytes, media: str = MEDIA) -> tuple[FormPart, ...]:
    return parse_form(Request("POST", "/", headers={"content-type": media}, body=body))


def build_part(headers: str, data: bytes = b"x") -> bytes:
    return f"--b\r\n{headers}\r\n\r\n".encode() + data + b"\r\n"


def test_httpx_sends_fields_and_files(site: Site) -> None:
    data = bytes(range(256)) * 100
    reply = httpx.post(
        f"{site.url}/upload",
        headers=site.headers,
        data={"to": "Dr. Weiß"},
        files=[("page", ("a.tiff", data, "image/tiff")), ("page", ("C:\\scans\\b", b"", "image/tiff"))],
    )
    assert reply.json() == [
        ["to", None, "text/plain", "Dr. Weiß".encode().hex()],
        ["page", "a.tiff", "image/tiff", data.hex()],
        ["page", "b", "image/tiff", ""],
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_sends_a_file(site: Site, tmp_path: Path) -> None:
    (tmp_path / "note.pdf").write_bytes(b"%PDF-1.7\r\n--b--\r\n")
    sent = ["-F", f"file=@{tmp_path}/note.pdf;type=application/pdf", "-F", "to=+1555"]
    done = subprocess.run(
        ["curl", "-sS", "-H", f"Authorization: Bearer {site.token}", *sent, f"{site.url}/upload"],
        capture_output=True,
        check=True,
        timeout=20,
    )
    assert b'["file","note.pdf","application/pdf"' in done.stdout
    assert b'["to",null,"text/plain"' in done.stdout


def test_malformed_form_is_refused_in_the_format_of_the_protocol(site: Site) -> None:
    headers = {**site.headers, "Content-Type": MEDIA}
    reply = httpx.post(f"{site.url}/upload", headers=headers, content=b"--b\r\nnothing")
    assert (reply.status_code, reply.text[:12]) == (400, "NAK bad_form")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "last boundary"),
        (build_part('Content-Disposition: form-data; name="a"'), "last boundary"),
        (build_part("Content-Type: text/plain") + b"--b--\r\n", "Content-Disposition"),
        (build_part("Content-Disposition: attachment") + b"--b--\r\n", "Content-Disposition"),
        (b'--b\r\nContent-Disposition: form-data; name="\xff"\r\n\r\nx\r\n--b--\r\n', "not UTF-8"),
        (b"--c\r\n\r\nx\r\n--c--\r\n", "malformed"),
    ],
)
def test_refusal_of_a_malformed_form_gives_the_reason(body: bytes, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_body(body)
    assert (refused.value.status, reason in refused.value.reason) == (400, True)


def test_malformed_form_logs_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Refusal):
        parse_body(b"--c\r\n\r\nx\r\n--c--\r\n")
    parse_body(build_part('Content-Disposition: form-data; name="a"') + b"--b--\r\ntrailing")
    assert caplog.records == []


def test_too_many_parts_are_refused_with_413() -> None:
    body = build_part('Content-Disposition: form-data; name="a"') * 3 + b"--b--\r\n"
    request = Request("POST", "/", headers={"content-type": MEDIA}, body=body)
    assert len(parse_form(request, max_parts=3)) == 3
    with pytest.raises(Refusal, match="2 parts") as refused:
        parse_form(request, max_parts=2)
    assert refused.value.status == 413


def test_other_media_type_is_refused_with_415_and_missing_boundary_with_400() -> None:
    for media, status in (("application/json", 415), ("", 415), ("multipart/form-data", 400)):
        with pytest.raises(Refusal) as refused:
            parse_body(b"--b--\r\n", media)
        assert refused.value.status == status


def test_part_text_that_is_not_utf_8_is_refused() -> None:
    [given] = parse_body(build_part('Content-Disposition: form-data; name="a"', b"\xff") + b"--b--\r\n")
    with pytest.raises(Refusal, match="`a` is not UTF-8"):
        _ = given.text
