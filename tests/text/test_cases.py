"""Every criterion that looks for a patient or a value finds the labelled cases of `cases.yml`."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clerkship.simulators.fax.assertions.fax_document import FaxHasDocument
from clerkship.simulators.fax.assertions.fax_text import FaxHasText
from clerkship.simulators.fhir.assertions.fhir_no_other_changes import FhirNoOtherChanges
from clerkship.simulators.messages.assertions.must_not_mention import MustNotMention
from clerkship.simulators.voice.assertions.voice_disclosed import VoiceDisclosed
from clerkship.simulators.voice.assertions.voice_transcript import VoiceTranscript
from tests.simulators.fax.sent_log import SentLog
from tests.simulators.fhir.assertions.clinic import RESOURCES, Clinic
from tests.simulators.messages.assertions.test_criteria import sent
from tests.simulators.voice.call_log_builder import CallLogBuilder

CASES = yaml.safe_load(Path(__file__).with_name("cases.yml").read_text(encoding="utf-8"))
PATIENT: Mapping[str, Any] = CASES["patient"]
ENTITIES = {"patient": PATIENT}
KINDS = {"phone": "number"}
"""What criteria that know the patient call a value."""
LISTED = {"change": "created", "type": "Basic", "elements": {"code": {"exists": True}, "subject": {"exists": True}}}


def find_in_message(text: str, sought: str) -> bool:
    log = SentLog()
    log.add_event(sent(text, "+15550109999"), source="clinic", actor="agent")
    criterion = MustNotMention.model_validate({"entity": "patient", "by": [KINDS.get(sought, sought)]})
    return not criterion.check(log.evidence(entities=ENTITIES)).passed


def find_in_chart(text: str, sought: str) -> bool:
    clinic = Clinic((*RESOURCES, dict(PATIENT)))
    subject = {"reference": "Patient/ana"}
    clinic.put({"resourceType": "Basic", "code": {"text": text}, "subject": subject})
    check = FhirNoOtherChanges.model_validate({"must": [LISTED]}).check(clinic.evidence())
    return any("no other patient" in str(row.expected) for row in check.evidence)


def find_on_fax(text: str, sought: str) -> bool:
    log = SentLog()
    log.add_fax(text)
    criterion = FaxHasDocument.model_validate({"not_contains": CASES["values"][sought]})
    return not criterion.check(log.evidence()).passed


def _call(text: str) -> CallLogBuilder:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, text)
    log.end(call)
    return log


def find_disclosed(text: str, sought: str) -> bool:
    fields = {"entity": "patient", "what": [KINDS.get(sought, sought)], "none": True}
    return not VoiceDisclosed.model_validate(fields).check(_call(text).evidence(entities=ENTITIES)).passed


def find_in_transcript(text: str, sought: str) -> bool:
    criterion = VoiceTranscript.model_validate({"not_contains": CASES["values"][sought]})
    return not criterion.check(_call(text).evidence()).passed


CRITERIA: Mapping[str, Callable[[str, str], bool]] = {
    "message": find_in_message,
    "chart": find_in_chart,
    "fax": find_on_fax,
    "disclosed": find_disclosed,
    "transcript": find_in_transcript,
}


def list_wrong(criterion: str, label: str) -> Iterator[str]:
    """Yield the cases of a label that a criterion gets wrong."""
    find, exception = CRITERIA[criterion], "not_by" if label == "must_find" else "but_by"
    for case in CASES[label]:
        is_expected = (label == "must_find") != (criterion in case.get(exception, ()))
        if find(case["text"], case["sought"]) != is_expected:
            yield f"{case['sought']}: {case['text']!a}"


@pytest.mark.parametrize("label", ["must_find", "must_not_find"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_labelled_cases_are_found_or_not_as_they_say(criterion: str, label: str) -> None:
    assert list(list_wrong(criterion, label)) == []


def test_page_word_by_word_may_have_other_letters_that_look_the_same() -> None:
    criterion = FaxHasText.model_validate({"text": "Margaret Sørensen called."})
    wrong = []
    for case in CASES["must_find"]:
        if case["text"].endswith(" called.") and "why" not in case:
            log = SentLog()
            log.add_fax(case["text"])
            wrong += [] if criterion.check(log.evidence()).passed else [ascii(case["text"])]
    assert wrong == []
