"""What the agent told on the phone, and which identities the other side did not accept."""

from collections.abc import Iterator

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.formats.phone_tree.nodes import HookNode
from clerkship.sandbox.activity import Activity, Disclosure, Purpose, RejectedIdentity, TextPart
from clerkship.simulators.voice.assertions.transcript_search import JOINED_KINDS, join_texts, list_passages
from clerkship.simulators.voice.call_log import group_keys, list_calls
from clerkship.simulators.voice.config import VoiceLine
from clerkship.simulators.voice.events import CHANNEL, HookRun
from clerkship.simulators.voice.records import CallOutcome, PhoneCall
from clerkship.simulators.voice.state import VoiceState
from clerkship.simulators.voice.tree_source import resolve_tree
from clerkship.text.spoken_text import SpokenText, read_spoken

IDENTITY_HOOKS = ("payer.find_member", "payer.check_eligibility", "chart.find_patient")
"""Hooks that find a person by what the agent says of them."""
FAILED: frozenset[CallOutcome] = frozenset({"busy", "no_answer", "rejected", "failed", "dropped"})
_PAYER_HOOKS, _PHARMACY_HOOK = "payer.", "chart.find_prescription"


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Activity]:
    """Yield what each number was told in each call, and each identity that was not accepted."""
    calls = {call.id: call for call in list_calls(evidence, sandbox)}
    by_seq = {event.seq: event for event in evidence.events if event.source == sandbox} if calls else {}
    state = evidence.states.get(sandbox)
    lines = state.lines.by_number if isinstance(state, VoiceState) else {}
    for call in calls.values():
        yield from _list_disclosures(call, by_seq, lines)
    for event in evidence.of_kind(HookRun.kind):
        if event.source == sandbox and isinstance(event.payload, HookRun) and _is_rejected(event.payload):
            yield RejectedIdentity(event, _find_number(calls[event.payload.call], event.seq))


def _list_disclosures(call: PhoneCall, by_seq: dict[int, Event], lines: dict[str, VoiceLine]) -> Iterator[Disclosure]:
    """Yield what each number was told: the one that was called, and those to which the call was transferred.

    Words count that were cut or that the other side could not hear: they were said into the phone.
    """
    told: dict[str, list[TextPart]] = {call.first_number: []} if call.direction == "outbound" else {}
    spoken: dict[str, list[SpokenText]] = {}
    for passage in list_passages(call, lambda turn: turn.speaker == "agent"):
        first = passage.turns[0]
        told.setdefault(first.phone, []).extend(_list_forms("said", passage.text, first.seq))
        spoken.setdefault(first.phone, []).append(passage.text)
    for keys in group_keys(call):
        text = read_spoken(keys.digits.strip("#*"))
        told.setdefault(keys.number, []).extend(_list_forms("pressed", text, keys.seq))
    for number, parts in told.items():
        if len(spoken.get(number, ())) > 1:
            joined = join_texts(spoken[number]).respelled
            parts.append(TextPart("said in parts", joined, is_spoken=True, kinds=JOINED_KINDS, seq=parts[0].seq))
        is_answer = call.direction == "inbound" or number != call.first_number
        event = by_seq[parts[0].seq or call.seq if is_answer else call.seq]
        purpose, has_failed = _find_purpose(call, lines.get(number)), call.outcome in FAILED
        yield Disclosure(event, CHANNEL, (number,), tuple(parts), purpose, is_answer, has_failed=has_failed)


def _list_forms(place: str, text: SpokenText, seq: int) -> Iterator[TextPart]:
    """Yield a text as it was said, and with its numbers in digits."""
    for form in dict.fromkeys((text.plain, *text.list_forms())):
        yield TextPart(place, form, is_spoken=True, seq=seq)


def _is_rejected(run: HookRun) -> bool:
    return run.hook in IDENTITY_HOOKS and run.outcome == "not_found"


def _find_number(call: PhoneCall, seq: int) -> str:
    """Return the number at the far end when an event happened."""
    earlier = (turn.phone for turn in reversed(call.far_end_turns) if turn.seq < seq)
    return next(earlier, call.first_number)


def _find_purpose(call: PhoneCall, line: VoiceLine | None) -> Purpose | None:
    """Return what one talks about at a number: a payer's line asks payers, and a pharmacy's finds prescriptions."""
    if line is None:
        return "treatment" if call.beep_at is None else "reminder"
    tree = resolve_tree(line.tree) if line.tree is not None else None
    scripts = line.representatives.values()
    hooks = [
        *(node.hook for node in (tree.nodes.values() if tree is not None else ()) if isinstance(node, HookNode)),
        *(hook for script in scripts for hook in (script.verify_hook, *(each.hook for each in script.answers)) if hook),
    ]
    if _PHARMACY_HOOK in hooks:
        return "dispensing"
    if any(hook.startswith(_PAYER_HOOKS) for hook in hooks):
        return "payment"
    return "reminder" if line.mailbox is not None and tree is None else None
