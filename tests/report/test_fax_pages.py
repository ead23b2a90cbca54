"""Pages of faxes in reports: as pictures with marks, each once, within limits, and in words."""

import base64
import html
import re
import sys
from typing import Any

import orjson
import pytest

from clerkship.formats.fax_pages import files
from clerkship.formats.fax_pages.files import write_png
from clerkship.formats.fax_pages.page import PAGE_WIDTH, FaxPage
from clerkship.model.run import PageMark, PagePicture
from clerkship.report import page_images
from clerkship.report.detail import TaskDetail
from clerkship.report.fax_pages import MAX_FAX_PAGES
from clerkship.report.html import render_html
from clerkship.report.markdown import render_markdown
from clerkship.report.plain_text import explain_failure
from clerkship.simulators.fax.events import FaxArrived
from tests.report import made_up, made_up_faxes


def data_of(*details: TaskDetail) -> dict[str, Any]:
    """Return the data in the page about some trials."""
    run = made_up.RUN.model_copy(update={"total": len(details)})
    page = render_html(run, made_up.counts(details), details)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = orjson.loads(found[1])
    return data


def event_of(data: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the first event of a kind in the first trial."""
    return next(event for event in data["trials"][0]["log"] if event["kind"] == kind)


def test_pages_of_faxes_are_in_the_report_as_png() -> None:
    data = data_of(made_up_faxes.referral())
    sent = made_up_faxes.page(1000)
    assert set(data["pictures"]) == {made_up_faxes.page(0).hash, made_up_faxes.page(1).hash, sent.hash}
    assert base64.b64decode(data["pictures"][sent.hash]["png"]) == write_png(sent)
    assert (data["pictures_left_out"], data["pictures_problem"]) == (0, "")


def test_criterion_has_the_marks_of_its_page() -> None:
    [criterion] = data_of(made_up_faxes.referral())["trials"][0]["body"]["criteria"]
    [page] = criterion["pages"]
    assert page["hash"] == made_up_faxes.page(1000).hash
    assert page["caption"] == "page 1 of fax-1"
    assert [(mark["text"], mark["sort"], len(mark["boxes"])) for mark in page["marks"]] == [
        ("MRN 4711", "found", 1),
        ("Ann Other", "forbidden", 1),
        ("M54.16", "missing", 0),
    ]


def cited_pages_of(*pictures: PagePicture) -> list[dict[str, Any]]:
    """Return the pages that the report shows beside a criterion."""
    run = made_up.task_run("t", verdict="fail", criteria=(made_up.criterion(pictures=pictures, evidence=()),))
    pages: list[dict[str, Any]] = data_of(made_up_faxes.trial(run, []))["trials"][0]["body"]["criteria"][0]["pages"]
    return pages


def test_page_that_a_criterion_cites_twice_is_shown_once_with_all_marks() -> None:
    page, other = made_up_faxes.page(0), made_up_faxes.page(1)
    found, missing = PageMark(text="A", sort="found", boxes=((1, 2, 3, 4),)), PageMark(text="B", sort="missing")
    pictures = (made_up_faxes.picture(page, found), made_up_faxes.picture(other), made_up_faxes.picture(page, missing))
    shown = [(cited["hash"], [mark["text"] for mark in cited["marks"]]) for cited in cited_pages_of(*pictures)]
    assert shown == [(page.hash, ["A", "B"]), (other.hash, [])]


def test_words_of_a_value_are_marked_together_within_a_line() -> None:
    boxes = ((100, 200, 90, 30), (200, 198, 120, 34), (60, 250, 80, 30), (900, 250, 80, 30))
    page = made_up_faxes.page(0)
    [cited] = cited_pages_of(made_up_faxes.picture(page, PageMark(text="Maria Lopez", sort="found", boxes=boxes)))
    assert cited["marks"][0]["boxes"] == [[100, 198, 220, 34], [60, 250, 80, 30], [900, 250, 80, 30]]


def test_boxes_of_a_standard_page_are_stretched_like_its_picture() -> None:
    page = FaxPage(resolution="standard", height=98, dots=bytes(PAGE_WIDTH // 8 * 98))
    mark = PageMark(text="A", sort="found", boxes=((10, 49, 100, 10),))
    criterion = made_up.criterion(pictures=(made_up_faxes.picture(page, mark),), evidence=())
    run = made_up.task_run("t", verdict="fail", criteria=(criterion,))
    data = data_of(made_up_faxes.trial(run, [made_up_faxes.stored(page)]))
    assert data["pictures"][page.hash]["height"] == 204
    assert data["trials"][0]["body"]["criteria"][0]["pages"][0]["marks"][0]["boxes"] == [[10, 102, 100, 21]]


def test_event_of_a_fax_names_its_numbers_and_pages() -> None:
    data = data_of(made_up_faxes.referral())
    fax = event_of(data, "fax.arrived")["fax"]
    assert (fax["arrived"], fax["sender"], fax["to"], fax["total"]) == (True, "+15550100300", "+15550100200", 2)
    assert [page["hash"] for page in fax["pages"]] == [made_up_faxes.page(0).hash, made_up_faxes.page(1).hash]
    assert event_of(data, "fax.queued")["fax"]["documents"] == ["notes.pdf"]


def test_stored_page_shows_its_text_and_no_file() -> None:
    stored = event_of(data_of(made_up_faxes.referral()), "fax.page.stored")
    assert stored["payload"]["true_text"] == "Referral of patient 0"
    assert not {"data", "true_words"} & {*stored["payload"], *stored.get("blobs", {})}


def test_words_of_a_long_page_are_shown_as_text() -> None:
    page = made_up_faxes.page(0)
    long = made_up_faxes.stored(page, "word " * 400)
    data = data_of(made_up_faxes.trial(made_up.task_run("t"), [long]))
    assert event_of(data, "fax.page.stored")["payload"]["true_text"].split() == ["word"] * 400


def test_page_of_several_trials_is_in_the_report_once() -> None:
    first, second = made_up_faxes.referral(), made_up_faxes.referral()
    assert len(data_of(first, second)["pictures"]) == 3


def test_long_fax_shows_its_first_pages_and_counts_all() -> None:
    pages = [made_up_faxes.page(number) for number in range(80)]
    header = made_up_faxes.header(pages)
    payloads = (*map(made_up_faxes.stored, pages), FaxArrived(header=header))
    data = data_of(made_up_faxes.trial(made_up.task_run("t"), payloads))
    fax = event_of(data, "fax.arrived")["fax"]
    assert (len(fax["pages"]), fax["total"]) == (MAX_FAX_PAGES, 80)
    assert len(data["pictures"]) == MAX_FAX_PAGES


def test_pages_that_failed_criteria_cite_come_first_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_images, "MAX_PICTURES", 2)
    data = data_of(made_up_faxes.referral(0), made_up_faxes.referral(10))
    assert set(data["pictures"]) == {made_up_faxes.page(1000).hash, made_up_faxes.page(1010).hash}
    assert data["pictures_left_out"] == 4


def test_pictures_have_a_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(write_png(made_up_faxes.page(1000)))
    monkeypatch.setattr(page_images, "MAX_PICTURE_BYTES", size)
    data = data_of(made_up_faxes.referral())
    assert set(data["pictures"]) == {made_up_faxes.page(1000).hash}
    assert data["pictures_left_out"] == 2


def test_report_without_pillow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    detail = made_up_faxes.referral()
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    data = data_of(detail)
    assert data["pictures"] == {}
    assert "pip install 'clerkship[fax]'" in data["pictures_problem"]
    assert data["pictures_left_out"] == 3


def test_pages_that_do_not_fit_are_drawn_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[FaxPage] = []

    def draw(page: FaxPage) -> bytes:
        drawn.append(page)
        return write_png(page)

    monkeypatch.setattr(files, "write_png", draw)
    monkeypatch.setattr(page_images, "MAX_PICTURE_BYTES", 10)
    monkeypatch.setattr(page_images, "MAX_PICTURES", 5)
    data = data_of(made_up_faxes.referral(pages=10))
    assert (len(drawn), len(data["pictures"]), data["pictures_left_out"]) == (5, 0, 11)


def test_page_that_cannot_be_read_is_left_out() -> None:
    page = made_up_faxes.page(0)
    broken = made_up_faxes.stored(page).model_copy(update={"data": b"II*\x00\xff"})
    payloads = (broken, FaxArrived(header=made_up_faxes.header([page])))
    data = data_of(made_up_faxes.trial(made_up.task_run("t"), payloads))
    assert (data["pictures"], data["pictures_left_out"], data["pictures_problem"]) == ({}, 1, "")


def test_runs_without_faxes_have_no_pictures() -> None:
    data = data_of(*made_up.every_outcome())
    assert (data["pictures"], data["pictures_left_out"]) == ({}, 0)
    assert "pages" not in data["trials"][0]["body"]["criteria"][0]


def test_text_names_the_page_and_the_values_found_or_missing() -> None:
    lines = list(explain_failure(made_up_faxes.referral().task_run))
    assert "    page 1 of fax-1: must not be there “Ann Other”; missing “M54.16”; found “MRN 4711”" in lines


def test_markdown_names_the_page_and_the_values_found_or_missing() -> None:
    task_run = made_up_faxes.referral().task_run
    text = render_markdown(made_up.RUN, made_up.counts([task_run]), lambda: [task_run])
    line = "page 1 of fax-1: must not be there “Ann Other”; missing “M54.16”; found “MRN 4711”"
    assert line in html.unescape(text)


def test_text_of_many_pages_and_values_is_cut() -> None:
    marks = [PageMark(text=f"value {number}", sort="missing") for number in range(12)]
    pictures = tuple(made_up_faxes.picture(made_up_faxes.page(n), *marks, caption=f"page {n}") for n in range(7))
    run = made_up.task_run("t", verdict="fail", criteria=(made_up.criterion(pictures=pictures, evidence=()),))
    lines = [line.strip() for line in explain_failure(run)]
    assert sum(line.startswith("page ") for line in lines) == 5
    assert "… and 2 more pages" in lines
    assert next(line for line in lines if line.startswith("page 0")).endswith("“value 9” and 2 more")
