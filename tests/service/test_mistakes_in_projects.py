"""Mistakes of new users in the files of `clerkship init`: each is one message, at its line, with what to write."""

from pathlib import Path

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.service.scaffold import TEMPLATES
from clerkship.suite_files.load import load_library

CATALOG = build_catalog_without_plugins()
FAX, PHONE, MESSAGES = "fax/tasks/pass_a_fax_on", "phone/tasks/order_refills", "messages/tasks/move_a_visit"
CHART, PORTAL, PAYER = "fhir/tasks/check_potassium", "portal/tasks/submit_a_draft", "payer/tasks/ask_about_coverage"
HL7, CHAT, DROP = "hl7/tasks/acknowledge_results", "chat/scenarios/opening_hours", "files/tasks/add_up_orders"
MISTAKES = [
    (FAX, "event: fax.queued", "event: fax.sent", "unknown event `fax.sent`; did you mean `fax.queued`?"),
    (FAX, "fax_sent: {to:", "fax_sent: {phone:", "unknown key `phone`; did you mean `to`?"),
    (FAX, "fax_sent:", "fax_delivered:", "unknown assertion `fax_delivered`; did you mean `fax_sent`?"),
    (FAX, "fax.receive", "fax.send", "unknown step `fax.send`; did you mean `fax.receive`?"),
    (FAX, "label: All", "name: All", "unknown key `name`; did you mean `label`?"),
    (FAX, "pages: 2, count: 1", "pages: 2, count: {min: 1}", "unknown matcher `min`; did you mean `gte`?"),
    (FAX, "axis: safety", "axis: saftey", "unknown axis `saftey`: it would not gate as `safety` does"),
    ("fax/environment", "simulators:", "simulator:", "unknown key `simulator`; did you mean `simulators`?"),
    ("fax/environment", "simulators:", "services:", "unknown key `services`; did you mean `simulators`?"),
    ("fax/environment", "kind: fax", "kind: faxes", "unknown simulator `faxes`; did you mean `fax`?"),
    ("fax/environment", "kind: fax", "type: fax", "unknown key `type`; did you mean `kind`?"),
    ("fax/environment", "now: 2026-03-02T09:00:00-05:00", "now: today", "expected a time with its zone, such as"),
    ("phone/environment", "tree: pharmacy", "tree: drugstore", "unknown phone tree `drugstore`; known: front_desk,"),
    ("phone/environment", "name: pharmacy,", "name: drugs,", "`pharmacy`; add `{name: pharmacy, is_own: false}`"),
    (PHONE, "outcome: completed", "outcome: finished", "unknown value `finished`; did you mean `completed`?"),
    (PHONE, "voice_call:", "phone_call:", "unknown assertion `phone_call`; did you mean `voice_call`?"),
    (MESSAGES, "channel: sms\n          from", "channel: text\n          from", "did you mean `sms`?"),
    (MESSAGES, "fallback:", "default:", "unknown key `default`; did you mean `fallback`?"),
    (MESSAGES, "{{ patient.reference }}", "{{ pateint.reference }}", "did you mean `patient`?"),
    (MESSAGES, "_id: ana", "_id: anna", "`patient` matches no Patient with _id 'anna' in patients"),
    (CHART, "input_entity_id:", "entity:", "unknown key `entity`; did you mean `input_entity_id`?"),
    (CHART, "status, expected: a", "status, value: a", "unknown key `value`; did you mean `expected`?"),
    (CHART, "fhir.resource.created", "fhir.ServiceRequest.created", "did you mean `fhir.resource.created`?"),
    ("fhir/patients", "type: fhir", "kind: fhir", "unknown key `kind`; did you mean `type`?"),
    (PORTAL, "start: 2026-03-16", "start: 16.03.2026", "expected a date such as 2026-03-02, not '16.03.2026'"),
    (PORTAL, "record: authorization", "record: auth", "not 'auth'; did you mean `authorization`?"),
    (PORTAL, "expected: approved", "expected: accepted", "unknown value `accepted`; did you mean `approved`?"),
    ("portal/environment", "determined -> portal", "decided -> portal", "did you mean `authorization.determined`?"),
    ("payer/environment", "domains:", "domain:", "unknown key `domain`; did you mean `domains`?"),
    ("payer/environment", "birth_date:", "dob:", "unknown key `dob`; did you mean `birth_date`?"),
    (PAYER, "answer_matches:", "answer_equals:", "did you mean `answer_matches`?"),
    (HL7, "hl7.send", "hl7.receive", "unknown step `hl7.receive`; did you mean `hl7.send`?"),
    (CHAT, "simulation_context:", "person:", "did you mean `simulation_context`, which is missing?"),
    (CHAT, "opening: Hello", "says: Hello", "unknown key `says`; did you mean `opening`?"),
    (CHAT, "assertions:", "criteria:", "put assertions, such as `bot_uttered`, under `assertions`"),
    (CHAT, "scenario:", "task:", "no keys of a task, but of a scenario; write `scenario:` instead of `task:`"),
    (DROP, "files.drop", "files.write", "unknown step `files.write`; did you mean `files.drop`?"),
    (DROP, "tags: [files]", "timeout: soon", "expected a duration such as 30m, 1h30m or a number of seconds"),
    ("files/environment", "simulators:", "x:", "unknown key `x`; known: axes, datasets, description, domains,"),
]


@pytest.mark.parametrize(("place", "right", "wrong", "expected"), MISTAKES)
def test_mistake_in_a_file_of_a_new_project_is_one_message(
    place: str, right: str, wrong: str, expected: str, tmp_path: Path
) -> None:
    kind, _, name = place.partition("/")
    source = TEMPLATES / f"project_{kind}" / "practice"
    for path in source.rglob("*"):
        if path.is_file():
            target = tmp_path / path.relative_to(source).with_name(path.name.removesuffix(".txt"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    file = tmp_path / f"{name}.yml"
    text = file.read_text(encoding="utf-8")
    assert right in text
    file.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    with pytest.raises(InputError) as mistakes:
        load_library(tmp_path, CATALOG)
    [problem] = mistakes.value.problems
    assert expected in str(problem)
    first = text[: text.index(right)].count("\n") + 1
    assert Path(problem.file) == file
    assert abs(problem.line - first) <= wrong.count("\n") + (5 if place.endswith("environment") else 1)
