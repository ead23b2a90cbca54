"""Phone calls and voicemails of a trial in the HTML report, with what each criterion found in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clerkship.by_name import load
from clerkship.model.run import CriterionRun, FieldCheck
from clerkship.model.snapshot import Snapshot
from clerkship.report.call_moments import (
    SPEAKER_NAMES,
    CallMoment,
    ShownCall,
    ShownVoicemail,
    describe_ending,
    format_seconds,
)
from clerkship.report.call_strip import build_strip
from clerkship.report.pages import clip
from clerkship.report.plain_text import side_by_side

CALL_KINDS = frozenset({"voice.call.started", "voice.voicemail.left"})
"""Events that only a log with a call or a voicemail has."""
MAX_CALLS = 20
"""Calls of one trial that are shown; those that a criterion names come first."""
MAX_MOMENTS = 300
"""Moments of one call that are shown: things said, keys, nodes and others."""
MAX_VOICEMAILS = 50
MAX_TEXT = 2_000
"""Characters of one text."""
MAX_FINDINGS = 30
"""Criteria that are named beside one call."""
MAX_VALUE = 120
"""Characters of a value beside a call."""
MAX_PLACES = 20
"""Places of a call that one criterion names."""


def has_calls(events: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a log has a call or a voicemail."""
    return any(event["kind"] in CALL_KINDS for event in events)


def read_calls(events: Sequence[Mapping[str, Any]]) -> tuple[list[ShownCall], list[ShownVoicemail]]:
    """Return the calls and voicemails in a log, in order; nothing is imported for a log without them."""
    if not has_calls(events):
        return [], []
    shown: tuple[list[ShownCall], list[ShownVoicemail]] = load("clerkship.report.call_facts:list_call_facts")(events)
    return shown


def build_calls(
    events: Sequence[Mapping[str, Any]], criteria: Sequence[CriterionRun], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return the calls and voicemails for the report, and how many are left out; empty if there are none.

    `names` has the names of lines and people, by number.
    """
    calls, voicemails = read_calls(events)
    if not calls and not voicemails:
        return {}
    cited = {check.seq for criterion in criteria for check in criterion.evidence if check.seq}
    shown = _select_calls(calls, cited)
    return {
        "calls": [_build_call(call, criteria, names) for call in shown],
        "calls_left_out": len(calls) - len(shown),
        "voicemails": [_build_voicemail(each, names) for each in voicemails[:MAX_VOICEMAILS]],
        "voicemails_left_out": max(len(voicemails) - MAX_VOICEMAILS, 0),
    }


def find_phone_names(snapshot: Snapshot | None, trial: int) -> dict[str, str]:
    """Return the names of the lines and people of a task, by number."""
    if snapshot is None:
        return {}
    names: dict[str, str] = {}
    for simulator in snapshot.environment.simulators.values():
        lines = simulator.config.get("lines")
        for line in lines if isinstance(lines, list | tuple) else ():
            if isinstance(line, Mapping) and line.get("number") and line.get("name"):
                names[str(line["number"])] = str(line["name"])
    people = (person.for_trial(trial) for person in snapshot.task.people)
    return names | {str(person.address): person.name for person in people if person.channel == "phone"}


def _select_calls(calls: Sequence[ShownCall], cited: set[int]) -> list[ShownCall]:
    """Return the calls that are shown, in order."""
    if len(calls) <= MAX_CALLS:
        return list(calls)
    named = [call for call in calls if _list_numbers(call) & cited]
    others = [call for call in calls if not _list_numbers(call) & cited]
    return sorted((*named, *others)[:MAX_CALLS], key=lambda call: call.seq)


def _list_numbers(call: ShownCall) -> set[int]:
    return {call.seq, *(moment.seq for moment in call.moments)}


def _build_call(call: ShownCall, criteria: Sequence[CriterionRun], names: Mapping[str, str]) -> dict[str, Any]:
    moments = call.moments[:MAX_MOMENTS]
    findings = _list_findings(call, criteria)
    cited = {place["seq"] for finding in findings for place in finding["places"]}
    left_out = len(call.moments) - len(moments)
    # A drawing of a part ends with the last moment that is shown.
    drawn = replace(call, end=max(moment.end for moment in moments)) if left_out else call
    return {
        "id": clip(call.id, 100),
        "source": call.source,
        "seq": call.seq,
        "direction": call.direction,
        "number": clip(call.number, 100),
        "name": clip(names.get(call.number, ""), 200),
        "at": call.started_at.isoformat(),
        "length": round(call.end, 3),
        "holds": [(round(hold.start, 3), round(hold.end, 3)) for hold in call.moments if hold.sort == "hold"],
        "ending": describe_ending(call),
        "is_completed": call.outcome == "completed",
        "measures": call.measures,
        "moments": [_build_moment(moment, findings) for moment in moments],
        "moments_left_out": left_out,
        "rows": build_strip(drawn, moments, cited),
        "findings": findings,
    }


def _build_moment(moment: CallMoment, findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    marks = [
        {"finding": number, "passed": place["passed"]}
        for number, finding in enumerate(findings, 1)
        for place in finding["places"]
        if place["seq"] == moment.seq
    ]
    optional = {
        "rest": clip(moment.rest, MAX_TEXT),
        "note": clip(moment.note, 400),
        "is_cut": moment.is_cut,
        "marks": marks,
    }
    return {
        "sort": moment.sort,
        "seq": moment.seq,
        "start": format_seconds(moment.start),
        "end": format_seconds(moment.end),
        "speaker": SPEAKER_NAMES.get(moment.speaker, moment.speaker),
        "is_by_agent": moment.is_by_agent,
        "text": clip(moment.text, MAX_TEXT),
        **{name: value for name, value in optional.items() if value},
    }


def _list_findings(call: ShownCall, criteria: Sequence[CriterionRun]) -> list[dict[str, Any]]:
    """Return the criteria that name this call or a place in it, each with the places and what was found there."""
    numbers = _list_numbers(call)
    findings: list[dict[str, Any]] = []
    for index, criterion in enumerate(criteria):
        checks = [check for check in criterion.evidence if check.seq in numbers and not _is_found(check)]
        if checks and criterion.status == "judged" and len(findings) < MAX_FINDINGS:
            places = {(check.seq, check.passed, _describe_check(check)): None for check in checks}
            findings.append(
                {
                    "criterion": index,
                    "label": clip(criterion.label, 400),
                    "passed": bool(criterion.passed),
                    "places": [
                        {"seq": seq, "passed": passed, "text": text, "is_call": seq == call.seq}
                        for seq, passed, text in list(places)[:MAX_PLACES]
                    ],
                    "places_left_out": max(len(places) - MAX_PLACES, 0),
                }
            )
    return findings


def _is_found(check: FieldCheck) -> bool:
    """Return whether a row only says that there is a call or a voicemail."""
    return check.passed and check.expected == {"exists": True}


def _describe_check(check: FieldCheck) -> str:
    expected, actual = side_by_side(check)
    words = expected if check.passed else f"{clip(actual, MAX_VALUE)}, expected {clip(expected, MAX_VALUE)}"
    return f"{clip(check.path, MAX_VALUE)}: {clip(words, 2 * MAX_VALUE)}"


def _build_voicemail(voicemail: ShownVoicemail, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "source": voicemail.source,
        "seq": voicemail.seq,
        "mailbox": clip(voicemail.mailbox, 200),
        "from": clip(voicemail.from_number, 100),
        "name": clip(names.get(voicemail.from_number, ""), 200),
        "at": voicemail.at.isoformat(),
        "seconds": round(voicemail.seconds),
        "text": clip(voicemail.text, MAX_TEXT),
        "before_beep": clip(voicemail.before_beep, MAX_TEXT),
        "call": clip(voicemail.call, 100),
    }
