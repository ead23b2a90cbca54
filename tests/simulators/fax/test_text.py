"""The text of a fax by OCR: that of the datasets, or else that of the engine; never the true words."""

from typing import Any

import orjson
import pytest

from clerkship.formats.fax_pages import ocr
from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.playground.handlers import RequestContext
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.sandbox.request import Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.fax import operations
from clerkship.simulators.fax.datasets import write_fax_texts
from clerkship.simulators.fax.handle import Fax
from tests.simulators.fax.clinic import BACK_OFFICE, FaxClinic
from tests.workbench import Workbench

SUITE = """
    dataset: {name: texts, type: fax_texts, file: texts.json}
    environment:
      name: clinic
      now: 2026-03-02T14:00:00Z
      datasets: [texts]
      simulators: {line: {kind: fax}}
    task:
      name: Read the fax
      scenario:
        steps: [{fax.receive: {from: "+15550100300", header: Harbor Laboratory, text: MRN 4471902}}]
      criteria: [{label: acted, assertion: {agent_acted: {}}}]
"""


def build_words(words_of_page: str) -> PageWords:
    words = words_of_page.split()
    return PageWords(words=tuple(PageWord(text=word, left=0, top=0, width=9, height=9) for word in words))


def test_text_of_a_dataset_is_returned_instead_of_the_true_words() -> None:
    with FaxClinic() as clinic:
        hashes = clinic.state.find_fax(clinic.receive("MRN 4471902\fPage two")).header.pages
    texts = dict(zip(hashes, (build_words("MRN 447I902"), build_words("Page tw0")), strict=True))
    with FaxClinic(texts=texts) as clinic:
        id = clinic.receive("MRN 4471902\fPage two")
        assert clinic.get(f"/faxes/{id}/text") == {
            "id": id,
            "pages": [{"page": 1, "text": "MRN 447I902"}, {"page": 2, "text": "Page tw0"}],
        }
        assert clinic.get(f"/faxes/{id}/text", page="2")["pages"] == [{"page": 2, "text": "Page tw0"}]
        assert clinic.handle.read_text(id) == "MRN 447I902\fPage tw0"
        assert clinic.get(f"/faxes/{id}")["unread"] is False
        reads = [(event.payload.format, event.payload.page) for event in clinic.events if event.kind == "fax.read"]  # type: ignore[attr-defined]
        assert reads == [("text", None), ("text", 2), ("text", 1), ("text", 2)]


def test_engine_reads_a_page_that_no_dataset_has() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive("Referral of Ada Okafor for cardiology.")
        text = clinic.handle.read_text(id)
        assert "Ada Okafor" in text
        assert "PAGE 1/1" in text


def test_engine_reads_what_remains_of_a_degraded_page() -> None:
    lines = "\n".join(f"Line {number} of the letter." for number in range(1, 40))
    with FaxClinic() as clinic:
        read = clinic.handle.read_text(clinic.receive(lines, degradation={"cut": 0.5}))
        assert "Line 3 of the letter" in read
        assert "Line 39 of the letter" not in read


def test_text_of_an_own_fax_is_read_from_its_pages() -> None:
    with FaxClinic() as clinic:
        id = clinic.send(BACK_OFFICE, "Please call us back.")["id"]
        assert "Please call us back." in clinic.handle.read_text(id)


def test_text_of_a_long_fax_is_read_page_by_page() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive("\f".join("x" * 21))
        reply = clinic.request("GET", f"/faxes/{id}/text")
        assert reply.status == 413
        assert b"give a page" in reply.body
        assert clinic.kinds.count("read") == 0
        clinic.handle.read_page_text(id, 21)


def test_reading_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MAX_TEXT_SECONDS", -1.0)
    with FaxClinic() as clinic:
        reply = clinic.request("GET", f"/faxes/{clinic.receive()}/text")
        assert (reply.status, b"too_slow" in reply.body) == (413, True)


def test_deleted_content_has_no_text() -> None:
    with FaxClinic() as clinic:
        id = clinic.receive()
        clinic.handle.delete_content(id)
        with pytest.raises(Refused, match="content_deleted"):
            clinic.handle.read_text(id)


def test_missing_page_has_no_text() -> None:
    with FaxClinic() as clinic:
        assert clinic.request("GET", f"/faxes/{clinic.receive()}/text", {"page": "3"}).status == 404


def test_text_of_a_dataset_needs_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_language_data", lambda: None)
    with FaxClinic() as clinic:
        [page] = clinic.state.find_fax(clinic.receive("MRN 4471902, which no cache has")).header.pages
    with FaxClinic(texts={page: build_words("MRN 447I902")}) as clinic:
        id = clinic.receive("MRN 4471902, which no cache has")
        assert clinic.get(f"/faxes/{id}/text")["pages"] == [{"page": 1, "text": "MRN 447I902"}]


def test_reply_without_an_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_language_data", lambda: None)
    with FaxClinic() as clinic:
        id = clinic.receive("A page that no cache has: 93179")
        rig = clinic.rig
        call = HttpCall(Request("GET", f"/faxes/{id}/text", {}, {}, b""), "http://box.invalid")
        reply = rig.gateway.answer(RequestContext(rig.playground.id, rig.name, call, rig.token))
        error = orjson.loads(reply.body)["error"]
        assert (reply.status, error["code"]) == (501, "not_installed")
        assert "pip install 'clerkship[ocr]'" in error["message"]


def test_run_without_an_engine_is_an_error_of_the_platform_and_not_a_failure(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "find_language_data", lambda: None)

    def read(task_item: Any, sandboxes: Sandboxes) -> None:
        line = sandboxes.get_as(Fax)
        line.read_text(line.inbox()[0]["id"])

    bench.write("texts.json", write_fax_texts([]).decode())
    bench.write("a.yml", SUITE.replace("MRN 4471902", "A page that no cache has 93180"))
    task_run = bench.run_one(read)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "pip install 'clerkship[ocr]'" in (task_run.error or "")


def test_texts_of_a_dataset_are_read_in_a_run(bench: Workbench) -> None:
    with FaxClinic() as clinic:
        pages = clinic.state.pages_of(clinic.receive("MRN 4471902"))
    texts: list[str] = []

    def read(task_item: Any, sandboxes: Sandboxes) -> None:
        line = sandboxes.get_as(Fax)
        texts.append(line.read_text(line.inbox()[0]["id"]))

    bench.write("texts.json", write_fax_texts([(pages[0].hash, build_words("MRN 447I902"))]).decode())
    bench.write("a.yml", SUITE)
    assert bench.run_one(read).status == "completed"
    assert texts == ["MRN 447I902"]
