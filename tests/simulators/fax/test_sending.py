"""Sending faxes in simulated time: outcomes of calls, retries, and the pages that get through."""

from io import BytesIO

import pytest
from PIL import Image

from clerkship.simulators.fax import rendering
from tests.simulators.fax.clinic import BACK_OFFICE, BROKEN, BUSY, FLAKY, LAB, OWN, SILENT, UNKNOWN, VOICE, FaxClinic


def test_fax_is_queued_then_sending_then_delivered() -> None:
    with FaxClinic() as clinic:
        fax = clinic.send("(555) 010-0300")
        assert (fax["status"], fax["sender"], fax["to"], fax["pages"]) == ("queued", OWN, LAB, 2)
        clinic.wait(19)
        assert clinic.state.find_fax(fax["id"]).status == "queued"
        clinic.wait(1)
        assert clinic.state.find_fax(fax["id"]).status == "sending"
        clinic.wait(59)  # a page takes 15 seconds, twice as long in `fine`
        assert clinic.state.find_fax(fax["id"]).status == "sending"
        clinic.wait(1)
        done = clinic.get(f"/faxes/{fax['id']}")
        assert (done["status"], done["pages_sent"], done["attempts"]) == ("delivered", 2, 1)
        assert clinic.statuses(fax["id"]) == [("sending", 1, 0), ("delivered", 1, 2)]


def test_standard_resolution_takes_half_the_time() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(resolution="standard")["id"]
        clinic.wait(50)
        assert clinic.state.find_fax(id).status == "delivered"


def test_busy_line_is_called_again_until_it_answers() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(BUSY)["id"]
        clinic.wait(20)
        assert (clinic.state.find_fax(id).status, clinic.state.find_fax(id).error) == ("retrying", "the line is busy")
        clinic.wait()
        changes = [("retrying", 1, 0), ("retrying", 2, 0), ("sending", 3, 0), ("delivered", 3, 2)]
        assert clinic.statuses(id) == changes
        assert clinic.get(f"/faxes/{id}").get("error") is None


@pytest.mark.parametrize(
    ("number", "status", "pages", "error"),
    [
        (BUSY, "busy", 0, "the line is busy"),
        (SILENT, "no_answer", 0, "no answer"),
        (VOICE, "failed", 0, "the call was answered, but not by a fax machine"),
        (BROKEN, "partial", 1, "the connection was lost after 1 of 2 pages"),
    ],
)
def test_fax_without_retries_ends_with_the_outcome_of_its_call(
    number: str, status: str, pages: int, error: str
) -> None:
    with FaxClinic() as clinic:
        id = clinic.send(number, max_retries=0)["id"]
        clinic.wait()
        fax = clinic.get(f"/faxes/{id}")
        assert (fax["status"], fax["attempts"], fax["pages_sent"], fax["error"]) == (status, 1, pages, error)
        assert clinic.state.next_due() is None


def test_retries_end_after_the_maximum() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(SILENT, max_retries=2, retry_delay=30)["id"]
        clinic.wait(20 + 2 * 50 - 1)
        assert clinic.state.find_fax(id).status == "retrying"
        clinic.wait(1)
        assert clinic.statuses(id) == [("retrying", 1, 0), ("retrying", 2, 0), ("no_answer", 3, 0)]


def test_lost_connection_is_followed_by_the_whole_fax() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(FLAKY)["id"]
        clinic.wait()
        assert clinic.statuses(id) == [
            ("sending", 1, 0),
            ("retrying", 1, 1),
            ("retrying", 2, 0),
            ("sending", 3, 0),
            ("delivered", 3, 2),
        ]


def test_outcomes_are_of_the_line_and_not_of_the_fax() -> None:
    with FaxClinic() as clinic:
        first = clinic.send(BUSY, max_retries=1)["id"]
        clinic.wait()
        second = clinic.send(BUSY, max_retries=0)["id"]
        clinic.wait()
        assert clinic.state.find_fax(first).status == "busy"
        assert clinic.state.find_fax(second).status == "delivered"


def test_outcome_of_a_call_stays_while_other_faxes_call_the_same_number() -> None:
    with FaxClinic() as clinic:
        first = clinic.send(FLAKY, max_retries=0)["id"]
        second = clinic.send(FLAKY, max_retries=0)["id"]
        clinic.wait()
        assert clinic.state.find_fax(first).status == "partial"
        assert clinic.state.find_fax(second).status == "no_answer"


def test_unknown_number_fails_at_once_and_is_not_called_again() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(UNKNOWN)["id"]
        clinic.wait()
        assert clinic.statuses(id) == [("failed", 1, 0)]
        assert clinic.get(f"/faxes/{id}")["error"] == "number not in service"


def test_fax_to_an_own_number_arrives_there_with_the_same_pages() -> None:
    with FaxClinic() as clinic:
        sent = clinic.send(BACK_OFFICE)["id"]
        assert clinic.handle.inbox() == []
        clinic.wait()
        [arrived] = clinic.handle.inbox()
        assert (arrived["sender"], arrived["to"], arrived["status"]) == (OWN, BACK_OFFICE, "received")
        assert clinic.state.find_fax(arrived["id"]).header.pages == clinic.state.find_fax(sent).header.pages


def test_answer_goes_to_the_sender_from_the_number_that_was_called() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive(to=BACK_OFFICE)
        answer = clinic.handle.reply(id, text="Received.")
        assert (answer["to"], answer["sender"], answer["in_reply_to"]) == (LAB, BACK_OFFICE, id)


def test_page_has_a_header_line_with_the_sender_and_the_number_of_the_page() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(header="Front Desk")["id"]
        texts = [page.true_words.text for page in clinic.state.pages_of(id) if page.true_words is not None]
        assert len(texts) == 2
        assert "FROM: Front Desk +1 555 010 0200 PAGE 1/2" in texts[0]
        assert "Referral of Ada Okafor, MRN 4471902." in texts[0]
        assert "PAGE 2/2" in texts[1]


@pytest.mark.parametrize("format", ["pdf", "tiff", "png"])
def test_true_words_of_a_page_that_is_sent_on_unchanged_are_known(format: str) -> None:
    with FaxClinic() as clinic:
        id = clinic.receive("MRN 4471902", degradation={"noise": 0.5, "skew": 0.5})
        file = clinic.handle.page(id, 1) if format == "png" else clinic.handle.download(id, format)
        sent = clinic.handle.send(LAB, files={"file": file})
        [page] = clinic.state.pages_of(sent["id"])
        assert page.true_words is not None
        assert "MRN 4471902" in page.true_words.text
        assert page.true_words.text.count("PAGE 1/1") == 2


def test_true_words_of_a_picture_are_not_known() -> None:
    picture = BytesIO()
    Image.new("L", (850, 1100), 255).save(picture, "JPEG")
    with FaxClinic() as clinic:
        sent = clinic.handle.send(LAB, files={"a.jpg": picture.getvalue()})
        [page] = clinic.state.pages_of(sent["id"])
        assert page.true_words is None


def test_page_is_stored_once() -> None:
    with FaxClinic() as clinic:
        clinic.send()
        clinic.send()
        assert clinic.kinds.count("page.stored") == 2
        assert clinic.kinds.count("queued") == 2


def test_documents_that_take_too_long_to_convert_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "MAX_SECONDS", -1.0)
    with FaxClinic() as clinic:
        assert clinic.refusal() == "too_slow"
        assert "refused" in clinic.kinds
