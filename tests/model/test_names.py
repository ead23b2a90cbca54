"""The nearest known name, by meaning and by spelling."""

from collections.abc import Collection

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.names import did_you_mean, find_nearest_name

CATALOG = build_catalog_without_plugins()
EVENTS, CRITERIA, STEPS = tuple(CATALOG.events), tuple(CATALOG.assertions), tuple(CATALOG.steps)
KINDS = (*CATALOG.simulators, *CATALOG.domains)
MEANT: dict[tuple[str, ...], str] = {
    EVENTS: """
        fax.sent fax.queued, fax.delivered fax.status_changed, fax.received fax.arrived, sms.sent messages.message.sent,
        messages.received messages.message.arrived, voice.call.placed voice.call.started, fax.bogus -,
        phone.call.finished voice.call.ended, fhir.patient.read fhir.resource.read, fhir.create fhir.resource.created,
        fhir.resource.updatd fhir.resource.updated, file.uploaded files.file.written, portal.login portal.signed_in,
        hl7.adt.received hl7.adt.arrived, fax.opened fax.read, fax.submitted fax.queued,
        portal.submitted portal.request.filed, agent.said chat.message.sent,
        agent.tool.used agent.tool.executed, hl7.message.sent hl7.adt.sent
    """,
    CRITERIA: """
        fax_delivered fax_sent, fax_was_sent fax_sent, email_sent message_sent, sms_contains message_sent,
        call_made voice_call, phone_call voice_call, file_exists file_present, file_created file_present,
        filepresent file_present, fax_documnt fax_document, fhir_state fhir_resource_state,
        fhir_created fhir_resource_state, answer_contains answer_matches, equals answer_matches,
        tool_used tool_called, flow_finished flow_completed, bot_said bot_uttered, not_mention must_not_mention,
        portal_submitted portal_action, event_happened event_occurred, llm_judge judged, nevr never,
        not_said bot_did_not_utter, budget model_usage, appointment_booked fhir_resource_state,
        fax_contains fax_text, contains answer_matches, unchanged fhir_no_other_changes
    """,
    STEPS: """
        fax.send fax.receive, sms.send messages.receive, phone.call voice.call, fhir.create fhir.put,
        FHIR.update fhir.put, fhir.remove fhir.delete, fhir.edit fhir.patch, fhir.pach fhir.patch,
        files.write files.drop, wait clock.advance, fault.slow fault.latency, hl7.receive hl7.send, nothing.bogus -,
        fax.put fax.receive, fax.bogus -, hl7.drop hl7.send, payer.approve payer.determine, portal.message portal.inbox,
        fault.500 fault.error
    """,
    KINDS: """
        sms messages, phone voice, ehr fhir, sftp files, website portal, edi x12, insurance payer, fhri fhir, faxes fax
    """,
    ("fhir", "hl7", "files", "portal", "payer", "phone", "fax", "messages", "chat"): (
        "voice phone, telephone phone, x12 payer, claims payer, sms messages, csv files, lab hl7, adt hl7"
    ),
    (
        "to",
        "from",
        "pages",
        "sandbox",
        "count",
        "none",
    ): "phone to, fax_number to, sender from, times count",
    ("number", "outcome", "ended_by", "count"): "phone number, to number, status outcome",
    ("label", "weight", "axis", "gate", "assertion"): "title label, points weight, required gate, check assertion",
    ("name", "task_item", "scenario", "timeout", "criteria", "environment"): (
        "prompt task_item, assertions criteria, setup scenario, env environment, max_time timeout, critera criteria"
    ),
    ("name", "now", "datasets", "simulators", "domains"): "sandboxes simulators, data datasets, time now",
    ("kind", "config", "datasets"): "type kind, options config, knd kind",
    ("order_ref", "account_id", "amount"): "order_id order_ref, acount_id account_id",
    ("desk@1", "chart@1"): "desk@7 desk@1, desk desk@1",
    ("path", "expected"): "field path, value expected",
    ("run", "resume", "list", "validate", "show"): "rum run, ls list, lint validate, results show, xyzzy -",
    (
        "--trials",
        "--concurrency",
        "--timeout",
        "--json",
        "--report",
        "--junit",
        "--max-cost",
        "--tls-cert",
        "--tls-key",
    ): (
        "--repeat --trials, --parallel --concurrency, --timout --timeout, --format --json, --out --report, "
        "--xml --junit, --max-seconds --timeout, --tls --tls-cert, --key --tls-key"
    ),
}


@pytest.mark.parametrize("known", MEANT, ids=lambda known: known[0])
def test_name_that_is_meant_is_found(known: Collection[str]) -> None:
    pairs = [pair.split() for pair in MEANT[tuple(known)].replace("\n", " ").split(",")]
    assert [(wrong, find_nearest_name(wrong, known) or "-") for wrong, _ in pairs] == [tuple(pair) for pair in pairs]


def test_spelling_comes_before_a_related_word_that_is_less_near() -> None:
    assert find_nearest_name("phones", ("phone", "to")) == "phone"


def test_known_names_are_listed_if_none_is_near() -> None:
    assert did_you_mean("xyzzy", ("b", "a")) == "known: a, b"
    assert did_you_mean("fax.bogus", EVENTS).startswith("known: fax.arrived, fax.content_deleted, fax.marked, ")
    assert did_you_mean("bogus", EVENTS) == ""
