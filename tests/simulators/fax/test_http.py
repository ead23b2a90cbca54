"""The neutral HTTP API: JSON and forms, lists, downloads, marks and deletion."""

from io import BytesIO

import orjson
import pytest
from PIL import Image

from clerkship.events.event import parse_line, render_event
from clerkship.formats.fax_pages.files import read_tiff
from clerkship.sandbox.handle import Refused
from tests.simulators.fax.clinic import BACK_OFFICE, LAB, OWN, SILENT, TWO_PAGES, FaxClinic

FORM = "multipart/form-data; boundary=page"


def build_form(*parts: tuple[str, str | None, bytes]) -> bytes:
    """Return a form of parts: name, file name and content."""
    body = b""
    for name, filename, data in parts:
        file = "" if filename is None else f'; filename="{filename}"'
        body += f'--page\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + data + b"\r\n"
    return body + b"--page--\r\n"


def test_line_shows_its_own_numbers_and_unread_faxes() -> None:
    with FaxClinic() as clinic:
        clinic.receive()
        line = clinic.get("/")
        assert (line["organization"], line["numbers"]) == ("Riverbend Family Medicine", [OWN, BACK_OFFICE])
        assert (line["unread"], line["project"]) == (1, "5ca1ab1e-fa00-4000-8000-000000000001")


def test_contacts_show_no_outcomes_and_are_searched_by_name_and_number() -> None:
    with FaxClinic() as clinic:
        assert clinic.get("/contacts", name="LABORATORY") == {
            "contacts": [{"name": "Harbor Laboratory", "number": LAB}]
        }
        assert clinic.handle.contacts(number="(555) 010-0302") == [{"name": "Silent Clinic", "number": SILENT}]
        page = clinic.get("/contacts", count="4")
        rest = clinic.get("/contacts", count="4", after=page["next"])
        assert [*page["contacts"], *rest["contacts"]] == clinic.handle.contacts()
        assert clinic.request("GET", "/contacts", {"after": "+15550000000"}).status == 404


def test_json_sends_a_text_as_the_handle_does() -> None:
    with FaxClinic() as clinic:
        reply = clinic.post(orjson.dumps({"to": LAB, "text": "Cover\fNotes"}))
        assert reply.status == 201
        assert orjson.loads(reply.body)["documents"] == [{"name": "document 1", "format": "text", "pages": 2}]
        fields = {"to": LAB, "text": "Cover", "documents": [{"name": "notes.txt", "text": "Notes"}]}
        both = orjson.loads(clinic.post(orjson.dumps(fields)).body)
        assert [document["name"] for document in both["documents"]] == ["document 1", "notes.txt"]
        assert clinic.post(orjson.dumps({"to": LAB})).status == 422


def test_cover_page_comes_first_with_numbers_date_and_count() -> None:
    with FaxClinic() as clinic:
        cover = {"attention": "Intake", "subject": "Ada Okafor", "message": "See page 2.", "urgent": True}
        fax = clinic.send(cover=cover)
        assert [(each["name"], each["pages"]) for each in fax["documents"]] == [("cover page", 1), ("document 1", 2)]
        assert fax["pages"] == 3
        words = next(page.true_words for page in clinic.state.pages_of(fax["id"]))
        assert words is not None
        for text in ("Harbor Laboratory", LAB, "Attention: Intake", "3 (with this sheet)", "See page 2.", "03/02/2026"):
            assert text in " ".join(words.text.split()), text
        long = clinic.send(cover={"message": "A long message. " * 500})
        assert long["documents"][0]["pages"] > 1
        assert clinic.send(cover={"colour": "red"})["error"]["code"] == "invalid_input"


def test_json_sends_several_documents_in_one_fax() -> None:
    with FaxClinic() as clinic:
        documents = [{"name": "cover.txt", "text": "Cover"}, {"base64": "Tm90ZXM=", "content_type": "text/plain"}]
        fax = clinic.send(documents=documents, sender=BACK_OFFICE, labels={"case": "7"})
        assert fax["documents"] == [
            {"name": "cover.txt", "format": "text", "pages": 1},
            {"name": "document 2", "format": "text", "pages": 1},
        ]
        assert (fax["sender"], fax["labels"], fax["header"]) == (
            BACK_OFFICE,
            {"case": "7"},
            "Riverbend Family Medicine",
        )


def test_form_sends_its_files_and_text_in_order() -> None:
    with FaxClinic() as clinic:
        image = BytesIO()
        Image.new("L", (1700, 2200), 255).save(image, "PNG")
        parts = [("to", None, LAB.encode()), ("text", None, b"Cover"), ("file", "scan.pdf", image.getvalue())]
        parts += [("max_retries", None, b"0"), ("retry_delay", None, b"1.5"), ("labels.case", None, b"7")]
        reply = clinic.post(build_form(*parts), FORM)
        fax = orjson.loads(reply.body)
        assert reply.status == 201
        assert fax["documents"] == [
            {"name": "document 1", "format": "text", "pages": 1},
            {"name": "scan.pdf", "format": "png", "pages": 1},
        ]
        assert (fax["max_retries"], fax["retry_delay"], fax["labels"]) == (0, 1.5, {"case": "7"})


def test_form_and_json_make_the_same_fax() -> None:
    with FaxClinic() as first, FaxClinic() as second:
        form = build_form(("to", None, LAB.encode()), ("text", None, TWO_PAGES.encode()))
        assert orjson.loads(first.post(form, FORM).body) == second.send()
        assert first.rig.dumped() == second.rig.dumped()


def test_list_is_filtered_and_paged() -> None:
    with FaxClinic() as clinic:
        arrived = [clinic.receive(f"Fax {number}", sender=LAB if number % 2 else SILENT) for number in range(5)]
        clinic.wait(60)
        since = clinic.rig.playground.clock.now.isoformat()
        sent = clinic.send()["id"]
        clinic.handle.mark(arrived[0])

        def listed(**query: str) -> list[str]:
            return [fax["id"] for fax in clinic.get("/faxes", **query)["faxes"]]

        assert listed() == [*arrived, sent]
        assert listed(direction="inbound") == arrived
        assert listed(direction="inbound", unread="true") == arrived[1:]
        assert listed(unread="false") == [arrived[0], sent]
        assert listed(address="(555) 010-0300") == [arrived[1], arrived[3], sent]
        assert listed(status="queued") == [sent]
        assert listed(since=since) == [sent]
        page = clinic.get("/faxes", count="4")
        assert page["next"] == arrived[3]
        assert listed(after=page["next"]) == [arrived[4], sent]
        assert "next" not in clinic.get("/faxes", after=page["next"])


def test_fax_that_arrived_does_not_show_where_its_documents_begin() -> None:
    with FaxClinic() as clinic:
        fax = clinic.handle.status(clinic.receive(labels={"task": "secret"}))
        assert fax.keys() == {"id", "direction", "sender", "to", "at", "status", "pages", "resolution", "unread"}


def test_downloads_have_all_pages_in_each_format() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive()
        hashes = clinic.state.find_fax(id).header.pages
        tiff = clinic.request("GET", f"/faxes/{id}/content", {"format": "tiff"})
        pdf = clinic.request("GET", f"/faxes/{id}/content")
        png = clinic.request("GET", f"/faxes/{id}/pages/2")
        assert tuple(page.hash for page in read_tiff(tiff.body)) == hashes
        assert (tiff.media, pdf.media, png.media) == ("image/tiff", "application/pdf", "image/png")
        assert pdf.body.startswith(b"%PDF-")
        assert pdf.body.count(b"/CCITTFaxDecode") == 2
        with Image.open(BytesIO(png.body)) as picture:
            assert (picture.format, picture.mode, picture.width) == ("PNG", "1", 1728)
        assert clinic.handle.pages(id)[1] == png.body
        assert pdf.headers["Content-Disposition"] == f'attachment; filename="{id}.pdf"'


@pytest.mark.parametrize("path", ["content", "pages/1"])
def test_reading_a_fax_marks_it_as_read_and_is_logged(path: str) -> None:
    with FaxClinic() as clinic:
        id = clinic.receive()
        assert clinic.get(f"/faxes/{id}")["unread"] is True
        clinic.request("GET", f"/faxes/{id}/{path}")
        assert clinic.get(f"/faxes/{id}")["unread"] is False
        assert clinic.kinds.count("read") == 1
        assert clinic.handle.mark(id, unread=True)["unread"] is True
        assert [fax["id"] for fax in clinic.handle.inbox()] == [id]


def test_deleted_content_cannot_be_read_but_is_kept_for_criteria() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive()
        clinic.handle.delete_content(id)
        for path in ("content", "pages/1", "text"):
            assert clinic.request("GET", f"/faxes/{id}/{path}").status == 410
        assert clinic.request("DELETE", f"/faxes/{id}/content").status == 410
        assert clinic.handle.status(id)["content_deleted"] is True
        assert len(clinic.state.pages_of(id)) == 2


def test_content_of_a_fax_under_way_is_not_deleted() -> None:
    with FaxClinic() as clinic:
        id = clinic.send()["id"]
        with pytest.raises(Refused, match="not_finished"):
            clinic.handle.delete_content(id)
        clinic.wait()
        clinic.handle.delete_content(id)


def test_webhook_is_registered_without_its_address_in_the_log() -> None:
    with FaxClinic() as clinic:
        clinic.handle.register_webhook("http://127.0.0.1:9/secret-path")
        clinic.handle.register_webhook("")
        registered = [event.payload.registered for event in clinic.events]  # type: ignore[attr-defined]
        assert registered == [True, False]
        assert b"secret-path" not in b"".join(clinic.rig.lines)


def test_request_is_recorded_with_the_fax_and_not_with_its_first_page() -> None:
    with FaxClinic() as clinic:
        clinic.send()
        [record] = [event for event in clinic.events if event.request is not None]
        assert record.kind == "fax.queued"
        line = render_event(record, {})
        assert b'"path":"/faxes"' in line
        assert parse_line(line)
