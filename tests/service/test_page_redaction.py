"""Pictures of fax pages in reports do not show the value of a variable that the tasks use."""

import base64
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.formats.fax_pages.files import read_tiff, write_png
from clerkship.formats.fax_pages.image import to_image
from clerkship.formats.fax_pages.page import PageWords
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.model.redaction import NO_REDACTION, build_redactor
from clerkship.service.exporting import write_reports
from clerkship.service.log_redaction import find_hidden_words
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import ReportTargets
from clerkship.service.task_view import show_task
from tests.formats.fax_pages.drawn_words import place_words
from tests.workbench import Workbench

VALUE = "Adaeze Okafor 4471902"
SUITE = """\
environment: {name: clinic, simulators: {line: {kind: fax, config: {contacts: [{name: Lab, number: "+15550100300"}]}}}}
task:
  name: A
  task_item: {instruction: Read the fax.}
  scenario: [{fax.receive: {from: "+15550100300", text: "Referral of PATIENT for cardiology."}}]
  criteria: [{label: sent, assertion: {fax_sent: {}}}]
"""


def send_picture(task_item: Any, sandboxes: Any) -> None:
    """Send a picture, whose words are not known."""
    [(page, _)] = render_text("Another page", "fine")
    sandboxes["line"].send("+15550100300", files={"letter.png": write_png(page)})
    sandboxes.wait("1h")


def write_report(bench: Workbench, patient: str) -> tuple[dict[str, Any], str]:
    """Run the task, and return the data of its report and its JSON Lines."""
    bench.write("a.yml", SUITE.replace("PATIENT", patient))
    task_run = bench.run_one(send_picture)
    html, jsonl = bench.folder.parent / "report.html", bench.folder.parent / "run.jsonl"
    write_reports(bench.store, task_run.run, ReportTargets(html=html, jsonl=jsonl))
    return read_data(html), jsonl.read_text()


def read_data(report: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.read_text(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = orjson.loads(found[1])
    return data


def read_pages(jsonl: str) -> list[tuple[PageWords | None, bytes]]:
    """Return the words and the file of each page of an export."""
    rows = [orjson.loads(line) for line in jsonl.splitlines()]
    bodies = {row["sha256"]: base64.b64decode(row["base64"]) for row in rows if row["type"] == "blob"}
    pages = [row["event"] for row in rows if row["type"] == "event" and row["event"]["kind"] == "fax.page.stored"]
    return [
        (
            PageWords.model_validate(page["payload"]["true_words"]) if page["payload"].get("true_words") else None,
            bodies[page["blobs"]["data"]["sha256"]],
        )
        for page in pages
    ]


@pytest.fixture
def value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value in a variable."""
    monkeypatch.setenv("PATIENT_NAME", VALUE)


@pytest.mark.slow
def test_value_is_blacked_out_on_the_page(bench: Workbench, value: None) -> None:
    data, jsonl = write_report(bench, "${PATIENT_NAME}")
    assert "Okafor" not in jsonl
    assert "Okafor" not in orjson.dumps(data).decode()
    [words, tiff] = read_pages(jsonl)[0]
    assert words is not None
    hidden = [word for word in words.words if word.text == "[redacted]"]
    assert "Referral of [redacted] [redacted] [redacted] for cardiology." in words.text
    image = to_image(read_tiff(tiff)[0]).convert("L")
    for word in hidden:
        box = image.crop((word.left, word.top, word.left + word.width, word.top + word.height))
        assert box.getextrema() == (0, 0)
    pictures = [picture["png"] for picture in data["pictures"].values()]
    assert base64.b64encode(write_png(read_tiff(tiff)[0])).decode() in pictures


def test_events_do_not_show_the_words_of_a_value(bench: Workbench, value: None) -> None:
    bench.write("a.yml", SUITE.replace("PATIENT", "${PATIENT_NAME}"))
    run = bench.store.run(bench.run_one(send_picture).run)
    view = show_task(bench.store, run.id, "A").redacted(build_run_redactor(bench.store, run))
    assert "Okafor" not in str(view.events)
    assert "cardiology" in str(view.events)


def test_words_of_a_page_with_much_text_are_redacted(bench: Workbench, value: None) -> None:
    data, jsonl = write_report(bench, "${PATIENT_NAME} " + "and of others " * 150)
    bodies = [base64.b64decode(row["base64"]) for row in map(orjson.loads, jsonl.splitlines()) if row["type"] == "blob"]
    assert not [body for body in bodies if b"Okafor" in body]
    assert "Okafor" not in orjson.dumps(data).decode()


def test_page_whose_words_are_not_known_is_left_out_with_a_note(bench: Workbench, value: None) -> None:
    data, jsonl = write_report(bench, "${PATIENT_NAME}")
    assert (len(data["pictures"]), data["pictures_redacted"], data["pictures_left_out"]) == (1, 1, 0)
    [_, (words, tiff)] = read_pages(jsonl)
    assert (words, tiff) == (None, b"")


def test_all_pages_are_shown_if_the_tasks_use_no_variables(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "sk-live-0123456789")
    data, jsonl = write_report(bench, "Ben Ito")
    assert (len(data["pictures"]), data["pictures_redacted"]) == (2, 0)
    assert all(tiff for _, tiff in read_pages(jsonl))


@pytest.mark.parametrize(
    ("page", "hidden"),
    [
        ("Referral of Adaeze Okafor 4471902.", ["Adaeze", "Okafor", "4471902."]),
        ("ADAEZE OKAFOR\n4471902 and Adaeze", ["ADAEZE", "OKAFOR", "4471902"]),
        ("Adaeze Okafor 4471903", []),
        ("key sk-live-\n0123456789, sk-live-0123456789", ["sk-live-", "0123456789,", "sk-live-0123456789"]),
    ],
)
def test_words_of_a_value_are_found_in_any_case_and_across_lines(page: str, hidden: list[str]) -> None:
    words = place_words(page)
    by = build_redactor({"NAME": VALUE, "KEY": "sk-live-0123456789"})
    assert [words.words[place].text for place in find_hidden_words(words, by)] == hidden
    assert find_hidden_words(words, NO_REDACTION) == []
