"""The step `fax.receive`: what arrives, when, and what is an error of the scenario."""

import base64
from datetime import timedelta
from typing import Any, NamedTuple

import orjson
import pytest
from pydantic import ValidationError

from clerkship.events.event import Event, parse_event
from clerkship.formats.fax_pages.files import read_tiff, write_png, write_tiff
from clerkship.formats.fax_pages.page import PageWords
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.model.errors import InputError
from clerkship.simulators.fax.events import EVENTS, FaxArrived, PageStored
from clerkship.simulators.fax.records import FaxHeader
from clerkship.simulators.fax.steps.receive import ReceiveFax
from tests.simulators.fax.clinic import LAB, FaxClinic
from tests.workbench import Workbench

SUITE = """
    environment:
      name: clinic
      now: 2026-03-02T09:00:00Z
      simulators:
        line:
          kind: fax
          config:
            organization: Riverbend Family Medicine
            contacts:
              - {name: Lakeside Cardiology, number: '+15550100300'}
        drop: {kind: files}
      reactions: [line.arrived -> drop]
    task:
      name: Read the faxes
      scenario:
        steps:
          STEPS
      criteria:
        - {label: acted, assertion: {agent_acted: {}}}
"""
REFERRAL = {
    "sender": {"name": "Lakeside Cardiology"},
    "recipient": {"name": "Riverbend Family Medicine"},
    "patient": {"name": "Ada Ho", "date_of_birth": "04/09/1961", "mrn": "MRN-4471902"},
    "reason": "Palpitations.",
    "signer": {"name": "Elena Marsh, MD"},
}


class FaxLog(NamedTuple):
    """The log of a run."""

    events: list[Event]

    @property
    def arrived(self) -> list[FaxHeader]:
        """The faxes that arrived."""
        return [event.payload.header for event in self.events if isinstance(event.payload, FaxArrived)]

    def texts(self, header: FaxHeader) -> list[str]:
        """Return the true words of each page of a fax."""
        pages = [event.payload for event in self.events if isinstance(event.payload, PageStored)]
        words = {page.hash: page.true_words for page in pages}
        return [" ".join((words[hash] or PageWords()).text.split()) for hash in header.pages]


def run_steps(bench: Workbench, *steps: str, agent: Any = None) -> FaxLog:
    """Run steps of `fax.receive`, each written as a map, and return the log."""
    lines = "\n          ".join(f"- {step}" for step in steps)
    bench.write("a.yml", SUITE.replace("STEPS", lines))
    task_run = bench.run_one(agent or (lambda task_item, sandboxes: sandboxes["line"].inbox()))
    assert task_run.status == "completed", task_run.error
    kinds = {payload.kind: payload for payload in EVENTS}
    faxed = [line for line in bench.store.log(task_run) if orjson.loads(line)["kind"] in kinds]
    return FaxLog([parse_event(line, kinds, bench.store.blob) for line in faxed])


def test_filled_template_arrives_with_the_line_of_the_sender_at_the_top(bench: Workbench) -> None:
    step = ReceiveFax.model_validate({"from": "+15550100300", "template": "referral_letter", "fields": REFERRAL})
    written = step.model_dump_json(by_alias=True, include={"sender", "template", "fields"})
    log = run_steps(bench, f"{{fax.receive: {written}}}")
    [header] = log.arrived
    [text] = log.texts(header)
    assert header.to == "+15550100200"
    assert text.startswith("2026-03-02 09:00 FROM: Lakeside Cardiology +1 555 010 0300 PAGE 1/1")
    assert "MRN-4471902" in text


def test_templates_of_the_task_are_filled_in_the_fields(bench: Workbench) -> None:
    lines = """- fax.receive:
              from: '+15550100300'
              template: plain_letter
              fields:
                sender: {name: Lakeside Cardiology}
                recipient: {name: Riverbend}
                signer: {name: Elena Marsh}
                body: 'Written on {{ now }}'"""
    log = run_steps(bench, lines.removeprefix("- "))
    assert "Written on 2026-03-02" in log.texts(log.arrived[0])[0]


def test_arrived_fax_is_dropped_as_a_tiff_file(bench: Workbench) -> None:
    files: dict[str, bytes] = {}

    def read(task_item: Any, sandboxes: Any) -> None:
        drop = sandboxes["drop"]
        files.update({path: drop.read(path) for path in drop.list("inbox")})

    text = "{fax.receive: {from: '+15550100300', text: \"One\\fTwo\"}}"
    log = run_steps(bench, text, text, agent=read)
    names = ["inbox/20260302-090000_from_15550100300.tif", "inbox/20260302-090000_from_15550100300_2.tif"]
    assert sorted(files) == names
    assert tuple(page.hash for page in read_tiff(files[names[0]])) == log.arrived[0].pages


def test_several_documents_arrive_in_one_fax(bench: Workbench) -> None:
    tiff = base64.b64encode(write_tiff([page for page, _ in render_text("From a file", "fine")])).decode()
    documents = f"[{{name: a, text: First}}, {{base64: {tiff}}}]"
    [header] = run_steps(bench, f"{{fax.receive: {{from: '+15550100300', documents: {documents}}}}}").arrived
    assert [(part.name, part.format, len(part.pages)) for part in header.parts] == [
        ("a", "text", 1),
        ("", "tiff", 1),
    ]


def test_missing_page_leaves_the_numbers_of_the_others(bench: Workbench) -> None:
    step = '{fax.receive: {from: "+15550100300", text: "One\\fTwo\\fThree", missing_pages: [2]}}'
    log = run_steps(bench, step)
    first, second = log.texts(log.arrived[0])
    assert first.endswith("PAGE 1/3 One")
    assert second.endswith("PAGE 3/3 Three")


def test_same_step_makes_the_same_pages_in_every_trial(bench: Workbench) -> None:
    step = "{fax.receive: {from: '+15550100300', text: Hello, degradation: {noise: 1, speckle: 40, skew: 0.5}}}"
    other = step.replace("text: Hello", "text: Hello, seed: other")
    pages = [run_steps(bench, step).arrived[0].pages for _ in range(2)]
    assert pages[0] == pages[1]
    assert run_steps(bench, other).arrived[0].pages != pages[0]


def test_answer_arrives_only_after_a_fax_to_the_sender(bench: Workbench) -> None:
    first = '{fax.receive: {from: "+15550100300", text: "One\\fTwo", missing_pages: [2]}}'
    again = "{fax.receive: {from: '+15550100300', text: Two again, reply_after: 20m}}"
    third = "{fax.receive: {from: '+15550100300', text: Two a third time, reply_after: 20m}}"
    counts = []

    def ask(task_item: Any, sandboxes: Any) -> None:
        line = sandboxes["line"]
        sandboxes.wait(timedelta(hours=5))
        counts.append(len(line.inbox(unread=False)))
        line.send("+15550100300", text="Page 2 is missing. Please send it again.")
        sandboxes.wait(timedelta(minutes=10))
        counts.append(len(line.inbox(unread=False)))
        sandboxes.wait(timedelta(minutes=15))
        counts.append(len(line.inbox(unread=False)))
        sandboxes.wait(timedelta(hours=5))
        counts.append(len(line.inbox(unread=False)))

    log = run_steps(bench, first, again, third, agent=ask)
    assert counts == [1, 1, 2, 2]
    assert log.texts(log.arrived[1])[0].endswith("Two again")
    [delivered] = [event for event in log.events if getattr(event.payload, "status", "") == "delivered"]
    arrival = [event for event in log.events if event.kind == FaxArrived.kind][-1]
    assert (arrival.cause, arrival.at - delivered.at) == (delivered.seq, timedelta(minutes=20))


def test_step_gives_faxes_and_answers_their_ids(bench: Workbench) -> None:
    first = "{fax.receive: {id: fax_first, from: '+15550100300', text: One}}"
    answer = "{fax.receive: {id: fax_answer, from: '+15550100300', text: Two, reply_after: 1m}}"

    def ask(task_item: Any, sandboxes: Any) -> None:
        sandboxes["line"].send("+15550100300", text="Please send the second page.")
        sandboxes.wait(timedelta(hours=1))

    assert [fax.id for fax in run_steps(bench, first, answer, agent=ask).arrived] == ["fax_first", "fax_answer"]


@pytest.mark.parametrize("more", ["", ", reply_after: 1m"])
def test_id_of_another_fax_is_an_error_of_the_scenario(bench: Workbench, more: str) -> None:
    step = f"{{fax.receive: {{id: fax_first, from: '+15550100300', text: One{more}}}}}"
    with pytest.raises(AssertionError, match="there is already a fax fax_first"):
        run_steps(bench, step, step)


def test_answer_is_not_sent_after_a_fax_to_another_number_or_a_busy_one(bench: Workbench) -> None:
    step = "{fax.receive: {from: '+15550100300', text: Again, reply_after: 1m}}"

    def ask(task_item: Any, sandboxes: Any) -> None:
        sandboxes["line"].send("+15550100999", text="Please send it again.")
        sandboxes.wait(timedelta(hours=5))

    assert run_steps(bench, step, agent=ask).arrived == []


def test_step_at_a_time_lets_a_fax_arrive_while_the_agent_works(bench: Workbench) -> None:
    counts = []

    def wait(task_item: Any, sandboxes: Any) -> None:
        counts.append(len(sandboxes["line"].inbox()))
        sandboxes.wait(timedelta(minutes=11))
        counts.append(len(sandboxes["line"].inbox()))

    run_steps(bench, "{at: +10m, fax.receive: {from: '+15550100300', text: Hello}}", agent=wait)
    assert counts == [0, 1]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "expected one of `template`"),
        ({"text": "x", "base64": "eA=="}, "not text and base64"),
        ({"template": "referal_letter"}, "unknown template `referal_letter`.*referral_letter"),
        (
            {"template": "referral_letter", "fields": {"reason": "x"}},
            "fields of referral_letter: sender: Field required",
        ),
        ({"text": "x", "fields": {"a": 1}}, "`fields` needs a `template`"),
        ({"base64": "?"}, "expected base64"),
        ({"file": "a.pdf"}, "`dataset` and `file` go together"),
        ({"text": "x", "missing_pages": [0]}, "pages are counted from 1"),
        ({"documents": [{"name": "empty"}]}, "expected one of `template`, `text` and `base64`"),
        ({"text": "x", "degradation": {"noise": 90}}, "less than or equal to 5"),
    ],
)
def test_mistake_in_a_step_is_found_when_it_is_loaded(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ReceiveFax.model_validate({"from": "+15550100300", **fields})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("text: x, missing_pages: [2]", "missing_pages has 2, but the fax has 1 pages"),
        ("text: x, missing_pages: [1]", "missing_pages has all pages"),
        ("base64: f0VMRgA=", "document:"),
    ],
)
def test_fax_that_cannot_arrive_is_an_error_of_the_scenario(bench: Workbench, fields: str, problem: str) -> None:
    bench.write("a.yml", SUITE.replace("STEPS", f"- {{fax.receive: {{from: '+15550100300', {fields}}}}}"))
    task_run = bench.run_one(lambda task_item, sandboxes: None)
    assert task_run.status == "errored"
    assert problem in str(task_run.error)


def test_field_with_a_template_is_checked_when_it_is_filled() -> None:
    step = ReceiveFax.model_validate(
        {"from": "+15550100300", "template": "referral_letter", "fields": {"reason": "{{ ada.reason }}"}}
    )
    with pytest.raises((InputError, ValidationError)):
        step._build()


def test_picture_arrives_with_its_dots(bench: Workbench) -> None:
    [(page, _)] = render_text("A picture", "fine")
    png = base64.b64encode(write_png(page)).decode()
    log = run_steps(bench, f"{{fax.receive: {{from: '+15550100300', base64: {png}, has_header: false}}}}")
    assert log.arrived[0].pages == (page.hash,)


def test_planned_answer_survives_a_replay_of_the_log() -> None:
    with FaxClinic() as clinic:
        playground = clinic.rig.playground
        step = ReceiveFax.model_validate({"from": LAB, "text": "Page 2 again", "reply_after": "20m"})
        step.run(playground)
        for seconds in (0, 600, 1800):
            clinic.wait(seconds)
            copy = playground.build_copy(playground.log.events)
            assert copy.components[clinic.rig.name].state.dump() == clinic.state.dump()
            assert copy.components[clinic.rig.name].state.next_due() == clinic.state.next_due()
            if seconds == 0:
                clinic.send(LAB)
        assert clinic.kinds[-1] == "arrived"
        assert clinic.state.next_due() is None
