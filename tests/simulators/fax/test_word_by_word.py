"""`fax_text`, `fax_forwarded` and `fax_was_read`: pages word by word, pages as they came, pages that were read."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.events.evidence import Evidence
from clerkship.formats.fax_pages.files import write_pdf
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Assertion
from clerkship.simulators.fax.assertions.fax_forwarded import FaxForwarded
from clerkship.simulators.fax.assertions.fax_text import FaxHasText
from clerkship.simulators.fax.assertions.fax_was_read import FaxWasRead
from tests.simulators.fax.clinic import LAB, TWO_PAGES, FaxClinic
from tests.workbench import Workbench, written

NOTE = "Visit note of Ada Okafor, MRN 4471902.\nBP 132/84, weight 61.8 kg.\nContinue warfarin 5 mg every evening."


@pytest.fixture
def clinic() -> Iterator[FaxClinic]:
    """A clinic with a fax line."""
    with FaxClinic() as opened:
        yield opened


def passes(clinic: FaxClinic, assertion: type[Assertion], **fields: Any) -> bool:
    """Return whether a criterion passes after enough time for all retries."""
    playground = clinic.rig.playground
    playground.advance(timedelta(hours=2))
    states = {name: sandbox.state for name, sandbox in playground.sandboxes.items()}
    evidence = Evidence(Task(name="A task"), playground.log.events, states, "agent_done")
    return assertion.model_validate(fields).check(evidence).passed


@pytest.mark.parametrize(
    ("sent", "passed"),
    [
        (NOTE, True),
        (NOTE.replace("\n", "   ").upper(), True),
        (f"{NOTE}\nStop warfarin.", False),
        (NOTE.replace("61.8", "618"), False),
        (NOTE.replace("5 mg", "50 mg"), False),
        (NOTE.partition("Continue")[0], False),
    ],
)
def test_text_that_was_sent_must_have_the_same_words(clinic: FaxClinic, sent: str, passed: bool) -> None:
    clinic.handle.send(LAB, text=f"Cover page\f{sent}")
    assert passes(clinic, FaxHasText, to=LAB, page=2, text=NOTE) is passed


@pytest.mark.parametrize(("more", "passed"), [("", True), ("\nStop warfarin and insulin today.", False)])
def test_text_in_a_picture_may_be_misread_but_not_have_more_words(clinic: FaxClinic, more: str, passed: bool) -> None:
    pages = [page for page, _ in render_text(NOTE + more, "fine")]
    clinic.handle.send(LAB, files={"note.pdf": write_pdf(pages)})
    assert passes(clinic, FaxHasText, to=LAB, text=NOTE) is passed


def test_text_without_fax_fails(clinic: FaxClinic) -> None:
    assert not passes(clinic, FaxHasText, text=NOTE)


@pytest.mark.parametrize("format", ["tiff", "pdf"])
def test_pages_that_are_sent_on_are_forwarded(clinic: FaxClinic, format: str) -> None:
    id = clinic.receive(TWO_PAGES)
    clinic.handle.send(LAB, text="Our page", files={f"fax.{format}": clinic.handle.download(id, format)})
    assert passes(clinic, FaxForwarded, to=LAB, fax=id, page=2)
    assert passes(clinic, FaxForwarded, to=LAB, fax=LAB)
    assert not passes(clinic, FaxForwarded, to=LAB, fax=id, page=1)


def test_pages_that_were_typed_again_are_not_forwarded(clinic: FaxClinic) -> None:
    id = clinic.receive(TWO_PAGES)
    clinic.handle.send(LAB, text=TWO_PAGES)
    assert not passes(clinic, FaxForwarded, to=LAB, fax=id)


def test_one_page_of_two_is_not_the_whole_fax(clinic: FaxClinic) -> None:
    id = clinic.receive(TWO_PAGES)
    clinic.handle.send(LAB, files={"page.png": clinic.handle.page(id, 1)})
    assert not passes(clinic, FaxForwarded, to=LAB, fax=id)


def test_fax_is_read_page_by_page(clinic: FaxClinic) -> None:
    id = clinic.receive(TWO_PAGES)
    clinic.handle.page(id, 1)
    assert not passes(clinic, FaxWasRead, id=id)
    assert passes(clinic, FaxWasRead, id=id, page=1)
    clinic.handle.page(id, 2)
    assert passes(clinic, FaxWasRead, **{"from": LAB})


def test_list_of_faxes_and_status_are_no_reading(clinic: FaxClinic) -> None:
    id = clinic.receive(TWO_PAGES)
    clinic.handle.faxes()
    clinic.handle.status(id)
    clinic.handle.mark(id)
    assert not passes(clinic, FaxWasRead, id=id)


def test_reading_after_the_event_is_too_late(clinic: FaxClinic) -> None:
    id = clinic.receive(TWO_PAGES)
    clinic.handle.send(LAB, text="Thank you")
    clinic.handle.download(id)
    assert passes(clinic, FaxWasRead, id=id)
    assert not passes(clinic, FaxWasRead, id=id, before={"event": "fax.queued"})


def test_fax_that_never_arrived_was_not_read(clinic: FaxClinic) -> None:
    assert not passes(clinic, FaxWasRead, id="fax_1")


def test_reading_the_file_of_a_fax_counts_also_after_it_was_moved(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write(
        "task.yml",
        """
        environment:
          name: office
          simulators: {fax: {kind: fax}, drop: {kind: files, config: {folders: [inbox, done]}}}
          reactions: [fax.arrived -> drop]
        task:
          name: Read
          environment: office
          scenario:
            steps:
              - fax.receive: {id: fax_1, from: "+15550100300", text: One}
              - fax.receive: {id: fax_2, from: "+15550100301", text: Two}
          criteria:
            - {label: first, assertion: {fax_was_read: {id: fax_1}}}
            - {label: second, assertion: {fax_was_read: {id: fax_2}}}
        """,
    )

    def move_and_read(task_item: Any, sandboxes: Any) -> None:
        [path] = [each for each in sandboxes["drop"].list("inbox") if "0300" in each]
        sandboxes["drop"].rename(path, "done/one.tif")
        sandboxes["drop"].read("done/one.tif")

    run = bench.run_one(move_and_read)
    assert {each.label: each.passed for each in written(run)} == {"first": True, "second": False}


@pytest.mark.parametrize(
    ("assertion", "fields"),
    [
        (FaxHasText, {"text": "..."}),
        (FaxHasText, {"text": "a", "page": 0}),
        (FaxForwarded, {"fax": "fax_1", "page": 0}),
        (FaxWasRead, {}),
        (FaxWasRead, {"id": "fax_1", "page": 0}),
    ],
)
def test_options_that_select_nothing_are_refused(assertion: type[Assertion], fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        assertion.model_validate(fields)
