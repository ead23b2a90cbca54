"""`fax_document`: only what a recipient can read on the pages counts."""

import contextlib
import io
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.evaluation import evaluate
from clerkship.events.evidence import Evidence
from clerkship.formats.fax_pages import conversion, ocr
from clerkship.formats.fax_pages.files import read_single_page, write_png, write_tiff
from clerkship.formats.fax_pages.fonts import FontStyle, load_font
from clerkship.formats.fax_pages.image import from_image, to_image
from clerkship.formats.fax_pages.page import FaxPage, PageWord, PageWords
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fax import ocr_words
from clerkship.simulators.fax.assertions import page_search
from clerkship.simulators.fax.assertions.fax_document import FaxHasDocument
from clerkship.simulators.fax.ocr_words import read_words
from tests.choices import mark_slow_after
from tests.simulators.fax.clinic import BROKEN, BUSY, LAB, SILENT, FaxClinic
from tests.simulators.fax.pdf import build_pdf, show_text
from tests.simulators.fax.sent_log import CLINIC, SentLog
from tests.workbench import Workbench, written

MRN, OTHER_MRN = "MRN-4471902", "MRN-4471920"
LETTER = "Referral of Ada Okafor, born 04/09/1961.\nRecord number MRN-4471902.\nPlease see her for palpitations."
FILLER = [show_text("Referral of a patient with palpitations", y=700), show_text("Please see her soon.", y=600)]


@pytest.fixture
def clinic() -> Iterator[FaxClinic]:
    """A clinic with a fax line."""
    with FaxClinic() as opened:
        yield opened


def evidence_of(clinic: FaxClinic) -> Evidence:
    """Return the evidence after enough time for all retries."""
    playground = clinic.rig.playground
    playground.advance(timedelta(hours=2))
    states = {name: sandbox.state for name, sandbox in playground.sandboxes.items()}
    return Evidence(Task(name="A task"), playground.log.events, states, "agent_done")


def check(source: FaxClinic | SentLog, **fields: Any) -> Check:
    """Check a criterion on the faxes that were sent."""
    evidence = evidence_of(source) if isinstance(source, FaxClinic) else source.evidence()
    return FaxHasDocument.model_validate(fields).check(evidence)


def send_pdf(clinic: FaxClinic, *lines: str, to: str = LAB, **fields: Any) -> None:
    """Send a PDF file of one page."""
    clinic.handle.send(to, files={"letter.pdf": build_pdf("\n".join((*FILLER, *lines)))}, **fields)


def draw_letter(text: str, degrees: int, place: tuple[int, int]) -> bytes:
    """Return a PNG picture of the letter, with a line of text on it that is turned."""
    pillow, draw = pytest.importorskip("PIL.Image"), pytest.importorskip("PIL.ImageDraw")
    [(page, _)] = render_text(LETTER, "fine")
    font = load_font(FontStyle(size=11))
    line = pillow.new("L", (round(font.getlength(text)) + 20, 50), 255)
    draw.Draw(line).text((10, 8), text, font=font, fill=0)
    letter = to_image(page).convert("L")
    letter.paste(line.rotate(degrees, expand=True), place)
    picture = io.BytesIO()
    letter.save(picture, "PNG")
    return picture.getvalue()


# What counts.


def test_text_is_found_exactly_and_marked_on_the_page(clinic: FaxClinic) -> None:
    clinic.handle.send(LAB, text=LETTER)
    result = check(clinic, to=LAB, contains=[MRN, "ada okafor", "1961-04-09"])
    assert (result.passed, result.score) == (True, 1.0)
    [picture] = result.pictures
    assert [(mark.text, mark.sort) for mark in picture.marks] == [
        (MRN, "found"),
        ("ada okafor", "found"),
        ("1961-04-09", "found"),
    ]
    assert all(mark.boxes for mark in picture.marks)
    [fax] = clinic.handle.faxes(direction="outbound")
    assert picture.page in clinic.state.find_fax(fax["id"]).header.pages


def test_text_of_the_pages_is_compared_with_a_matcher(clinic: FaxClinic) -> None:
    clinic.handle.send(LAB, text="Page two of three\nis missing.")
    assert check(clinic, to=LAB, text={"matches": r"(?i)\bpage (2|two)\b"}).passed
    assert check(clinic, to=LAB, contains="missing", text={"says": [["second page", "page two"]]}).passed
    result = check(clinic, to=LAB, text={"says": ["page three"]})
    assert (result.passed, result.score) == (False, 0.0)
    assert "not readable in" in result.detail


def test_pdf_is_read_by_ocr(clinic: FaxClinic) -> None:
    send_pdf(clinic, show_text(f"Record number {MRN}", size=14))
    assert check(clinic, contains=MRN).passed
    assert not check(clinic, contains=OTHER_MRN).passed
    assert not check(clinic, not_contains=MRN).passed


@pytest.mark.slow  # quicker: test_page_of_the_wrong_patient_is_found_when_it_is_turned
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotated_page_is_turned_before_it_is_read(clinic: FaxClinic, degrees: int) -> None:
    [(page, _)] = render_text(LETTER, "fine")
    file = io.BytesIO()
    to_image(page).convert("L").rotate(degrees, expand=True).save(file, "PNG")
    fax = clinic.handle.send(LAB, files={"scan.png": file.getvalue()})
    read = clinic.handle.read_text(fax["id"])
    assert read.startswith("2026-03-02"), read  # the line at the top, which is upright
    assert f"Record number {MRN}." in read
    result = check(clinic, contains=MRN)
    assert result.passed
    [mark] = result.pictures[0].marks
    [stored] = clinic.state.pages_of(fax["id"])
    dots = to_image(read_single_page(stored.data)).convert("L")
    for left, top, width, height in mark.boxes:
        box = dots.crop((left, top, left + width, top + height))
        assert 0.1 < box.histogram()[0] / (width * height) < 0.6
    assert sum(width * height for _, _, width, height in mark.boxes) < 0.01 * stored.width * stored.height


def test_forwarded_page_has_the_words_of_the_page_that_arrived(clinic: FaxClinic) -> None:
    clinic.receive(LETTER)
    [fax] = clinic.handle.inbox()
    for format in ("pdf", "tiff"):
        clinic.handle.send(LAB, files={f"fax.{format}": clinic.handle.download(fax["id"], format)})
    for fax in clinic.handle.faxes(direction="outbound"):
        [page] = clinic.state.pages_of(fax["id"])
        assert page.true_words is not None
    assert check(clinic, contains=MRN).passed


def test_several_notations_of_a_value_are_one_value() -> None:
    log = SentLog()
    log.add_fax("Born April 9, 1961")
    assert check(log, contains=["1961-04-09"]).passed
    assert check(log, contains=[["09.04.1961", "April 9, 1961"]]).passed
    assert not check(log, contains=[["09.04.1961", "04-09-61"]]).passed


# Cheats.


@pytest.mark.parametrize(
    "line",
    [
        show_text(MRN, style="3 Tr"),
        show_text(MRN, style="1 g"),
        show_text(MRN, size=3),
        show_text(MRN, style="0.93 g"),
    ],
    ids=["hidden text layer", "white", "3 points", "light grey"],
)
def test_text_that_cannot_be_read_on_the_page_does_not_count(clinic: FaxClinic, line: str) -> None:
    send_pdf(clinic, line)
    result = check(clinic, contains=MRN)
    assert (result.passed, result.score) == (False, 0.0)
    assert [mark.sort for picture in result.pictures for mark in picture.marks] == ["missing"]


@pytest.mark.parametrize(
    "wrong", mark_slow_after(2, ["MRN-4471903", "MRN-447190", "MRN-4471920", "MRN-44719021", "4471902-1"])
)
def test_identifier_with_a_wrong_digit_is_another_one(clinic: FaxClinic, wrong: str) -> None:
    clinic.handle.send(LAB, text=f"Record number {wrong}.")
    send_pdf(clinic, show_text(f"Record number {wrong}", size=14))
    result = check(clinic, contains=MRN)
    assert not result.passed
    assert f"not readable in 1 page to {LAB}, delivered" in result.detail


def test_value_in_file_name_header_line_or_labels_does_not_count(clinic: FaxClinic) -> None:
    clinic.handle.send(LAB, files={f"{MRN}.txt": b"Please see her."}, header=MRN, labels={"record": MRN})
    assert not check(clinic, contains=MRN).passed
    assert not check(clinic, not_contains=MRN).passed  # the recipient reads it in the line at the top


def test_value_in_header_line_of_a_picture_does_not_count(clinic: FaxClinic) -> None:
    send_pdf(clinic, header=MRN)
    assert not check(clinic, contains=MRN).passed


def test_page_of_the_wrong_patient_is_found_on_any_page_of_any_fax(clinic: FaxClinic) -> None:
    clinic.handle.send(LAB, text=f"{LETTER}\fNotes of {OTHER_MRN}.")
    result = check(clinic, to=LAB, contains=MRN, not_contains=[OTHER_MRN, "Ben Ito"])
    assert (result.passed, result.score) == (False, 0.0)
    assert result.detail.startswith(f"forbidden: `{OTHER_MRN}` is on page 2")
    assert [(mark.text, mark.sort) for mark in result.pictures[0].marks] == [(OTHER_MRN, "forbidden")]
    assert check(clinic, to=BUSY, not_contains=OTHER_MRN).passed


@pytest.mark.parametrize("degrees", [90, *(pytest.param(each, marks=pytest.mark.slow) for each in (180, 270))])
def test_page_of_the_wrong_patient_is_found_when_it_is_turned(clinic: FaxClinic, degrees: int) -> None:
    [(page, _)] = render_text(LETTER, "fine")
    picture = io.BytesIO()
    to_image(page).convert("L").rotate(degrees, expand=True).save(picture, "PNG")
    clinic.handle.send(LAB, files={"turned.png": picture.getvalue()})
    result = check(clinic, not_contains=MRN)
    assert not result.passed
    [(_, _, width, height)] = result.pictures[0].marks[0].boxes
    assert max(width, height) < 300  # the number alone is marked, not the whole page
    assert check(clinic, not_contains=OTHER_MRN).passed


def test_forbidden_value_is_found_in_letters_that_look_alike(clinic: FaxClinic) -> None:
    clinic.handle.send(LAB, text=f"{LETTER}\nNotes of ḾRN-447l92O.")
    assert not check(clinic, not_contains=OTHER_MRN).passed
    assert not check(clinic, contains=OTHER_MRN).passed
    assert check(clinic, contains=MRN, not_contains="MRN-4471930").passed


@pytest.mark.parametrize(
    ("degrees", "place"),
    [
        (90, (1000, 600)),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((180, (700, 600)), (270, (60, 300)))),
    ],
    ids=["sideways below the text", "upside down", "sideways in the margin"],
)
def test_turned_text_on_an_upright_page_is_found(clinic: FaxClinic, degrees: int, place: tuple[int, int]) -> None:
    clinic.handle.send(LAB, files={"letter.png": draw_letter(f"Notes of {OTHER_MRN}", degrees, place)})
    result = check(clinic, contains=MRN, not_contains=OTHER_MRN)
    assert not result.passed
    assert result.detail.startswith(f"forbidden: `{OTHER_MRN}` is on page 1")
    assert check(clinic, contains=MRN, not_contains="MRN-4471930").passed


def test_upright_page_is_read_once_if_nothing_else_is_on_it(clinic: FaxClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []

    def count(page: FaxPage) -> PageWords:
        pages.append(page.hash)
        return read_words(page)

    for module in (page_search, ocr_words):
        monkeypatch.setattr(module, "read_words", count)
    send_pdf(clinic)
    evidence = evidence_of(clinic)
    for _ in range(2):
        assert FaxHasDocument.model_validate({"not_contains": MRN}).check(evidence).passed
    assert len(pages) == 1


def test_each_page_must_have_the_value_if_the_criterion_says_so() -> None:
    log = SentLog()
    log.add_fax(f"Cover {MRN}", "Notes of another patient")
    assert check(log, contains=MRN).passed
    result = check(log, contains=MRN, each_page=True)
    assert [(row.path, row.passed) for row in result.evidence if row.path.startswith("contains")] == [
        ("contains (page 1)", True),
        ("contains (page 2)", False),
    ]
    assert not result.passed


def test_fax_that_was_not_delivered_does_not_count(clinic: FaxClinic) -> None:
    clinic.handle.send(SILENT, text=LETTER)
    result = check(clinic, contains=MRN)
    assert (result.passed, result.score) == (False, 0.0)
    assert result.detail.endswith("but not: status")
    assert not check(clinic, not_contains=MRN).passed


def test_page_that_got_lost_does_not_count(clinic: FaxClinic) -> None:
    clinic.handle.send(BROKEN, text=f"Cover\f{LETTER}")
    accepted = {"in": ["delivered", "partial"]}
    assert not check(clinic, contains=MRN).passed
    assert not check(clinic, contains=MRN, status=accepted).passed
    assert check(clinic, contains="Cover", status=accepted).passed


def test_values_must_be_on_the_pages_of_one_fax() -> None:
    log = SentLog()
    log.add_fax(f"Record {MRN}")
    log.add_fax("Patient Ada Okafor")
    result = check(log, contains=[MRN, "Ada Okafor"])
    assert (result.passed, result.score) == (False, 0.5)
    log.add_fax(f"Ada Okafor {MRN}")
    assert check(log, contains=[MRN, "Ada Okafor"]).passed


def test_everything_that_could_be_sent_does_not_pass() -> None:
    log = SentLog()
    pages = tuple(f"Record MRN-{4471800 + number}" for number in range(200))
    log.add_fax(*pages)
    assert check(log, contains=MRN).passed
    assert not check(log, contains=MRN, pages={"lte": 5}).passed
    result = check(log, contains=MRN, not_contains=["MRN-4471801", "MRN-4471899"])
    assert not result.passed
    assert len(result.pictures) <= 24


@pytest.mark.slow
def test_more_pictures_than_can_be_read_fail(clinic: FaxClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_search, "MAX_OCR_PAGES", 2)
    pages = (show_text(f"Page {number} of many", size=14) for number in range(3))
    clinic.handle.send(LAB, files={"many.pdf": build_pdf(*pages)})
    outcome = evaluate(FaxHasDocument.model_validate({"not_contains": MRN}), evidence_of(clinic))
    assert (outcome.status, outcome.check.passed) == ("judged", False)
    assert "cannot be checked in time" in outcome.check.detail


def test_pages_of_noise_that_would_take_hours_to_read_fail(clinic: FaxClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_search, "MAX_OCR_BYTES", 50_000)
    noise = FaxPage(height=400, dots=random.Random(1).randbytes(216 * 400))
    clinic.handle.send(LAB, files={"noise.tif": write_tiff([noise])})
    outcome = evaluate(FaxHasDocument.model_validate({"not_contains": MRN}), evidence_of(clinic))
    assert (outcome.status, outcome.check.passed) == ("judged", False)
    assert "50,000 bytes" in outcome.check.detail


def test_words_that_the_suite_ships_are_used_instead_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_language_data", lambda: None)
    with FaxClinic() as clinic:
        send_pdf(clinic, show_text("Words that only the suite knows", size=14))
        [fax] = clinic.handle.faxes(direction="outbound")
        [page] = clinic.state.pages_of(fax["id"])
        word = PageWord(text="MRN-447I9O2", left=150, top=700, width=300, height=30)
        clinic.state.records[page.hash] = PageWords(words=(word,))
        result = check(clinic, contains=MRN)
        assert result.passed
        assert result.pictures[0].marks[0].boxes == ((150, 700, 300, 30),)
        assert not check(clinic, contains=OTHER_MRN).passed


# Which document, which page.


def test_value_is_searched_in_the_document_that_is_named() -> None:
    log = SentLog()
    log.add_documents({"cover.txt": ("Cover for Ada Okafor",), "notes.txt": ("Notes", f"Record {MRN}")})
    assert check(log, contains=MRN, document=2).passed
    assert check(log, contains=MRN, document="notes.txt", page=2).passed
    assert check(log, contains=MRN, document={"matches": "^notes"}).passed
    assert check(log, contains=MRN, page=[2, 3]).passed
    assert not check(log, contains=MRN, document="notes.txt", page=1).passed
    assert not check(log, contains=MRN, document=1).passed
    result = check(log, contains=MRN, document=3)
    assert [row.path for row in result.evidence if not row.passed] == ["selection", "contains"]


# Errors.


def test_missing_ocr_engine_is_an_error_and_not_a_failure(clinic: FaxClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_language_data", lambda: None)
    send_pdf(clinic, show_text("A page that no cache has: 93177", size=14))
    outcome = evaluate(FaxHasDocument.model_validate({"contains": MRN}), evidence_of(clinic))
    assert outcome.status == "error"
    assert "clerkship[ocr]" in outcome.check.detail


def test_known_words_are_enough_without_an_ocr_engine(clinic: FaxClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_language_data", lambda: None)
    picture = build_pdf(show_text("A page that no cache has: 93178", size=14))
    clinic.handle.send(LAB, files={"a.pdf": picture, "b.txt": LETTER.encode()})
    assert check(clinic, contains=MRN).passed


def test_nothing_sent_fails_unless_only_forbidden_values_are_given() -> None:
    assert check(SentLog(), contains=MRN).detail == "the agent sent no fax that was delivered"
    assert check(SentLog(), not_contains=MRN).passed
    assert FaxHasDocument(not_contains=MRN).passes_on_inaction
    assert not FaxHasDocument(contains=MRN, not_contains=OTHER_MRN).passes_on_inaction


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "expected `contains` or `not_contains`"),
        ({"contains": " - "}, "a blank value is on every page"),
        ({"contains": [[]]}, "a blank value is on every page"),
        ({"contains": 4471902}, "tuple"),
        ({"not_contains": MRN, "page": 1}, "`page` needs `contains`"),
        ({"contains": MRN, "page": 0}, "`page` is counted from 1"),
        ({"contains": MRN, "document": 0}, "number from 1"),
    ],
)
def test_mistake_in_a_criterion_is_found_when_it_is_loaded(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        FaxHasDocument.model_validate(fields)


def test_number_of_the_fax_limits_what_is_searched() -> None:
    log = SentLog()
    log.add_fax(f"Record {MRN}", to="+15550100999")
    assert not check(log, to=CLINIC, contains=MRN).passed
    assert check(log, to=CLINIC, not_contains=MRN).passed
    assert not check(log, not_contains=MRN).passed


def test_white_page_is_readable_as_nothing(clinic: FaxClinic) -> None:
    image = pytest.importorskip("PIL.Image").new("L", (1728, 2156), 255)
    clinic.handle.send(LAB, files={"white.png": write_png(from_image(image, "fine"))})
    assert not check(clinic, contains=MRN).passed


TASK = """
    environment:
      name: clinic
      simulators:
        line: {kind: fax, config: {contacts: [{name: Lab, number: '+15550100300'}]}}
    task:
      name: Send the letter
      task_item: {instruction: Fax the record number to the laboratory.}
      criteria:
        - label: The record number is on it
          assertion:
            fax_document: {to: '+15550100300', contains: MRN-4471902, not_contains: [MRN-4471920]}
"""


def test_pages_are_stored_with_the_result_of_a_run(bench: Workbench) -> None:
    bench.write("a.yml", TASK)

    def send(task_item: Any, sandboxes: Any) -> None:
        sandboxes["line"].send("+15550100300", text=LETTER)
        sandboxes.wait(timedelta(hours=1))

    [result] = written(bench.run_one(send))
    assert result.passed
    [picture] = result.pictures
    assert (picture.source, picture.marks[0].text) == ("line", MRN)


def test_missing_extra_is_an_error_of_the_platform_and_not_a_failure(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("a.yml", TASK)
    monkeypatch.setattr(conversion, "_PACKAGES", ("no_such_package",))

    def send(task_item: Any, sandboxes: Any) -> None:
        with contextlib.suppress(Exception):
            sandboxes["line"].send("+15550100300", text=LETTER)

    task_run = bench.run_one(send)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "pip install 'clerkship[fax]'" in (task_run.error or "")
