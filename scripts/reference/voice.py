"""The page about the telephone."""

from collections.abc import Iterable, Iterator
from typing import get_args

from clerkship.formats.phone_tree.nodes import HookNode, TransferNode, VoicemailNode
from clerkship.formats.phone_tree.prompts import SECONDS_PER_PAUSE, SECONDS_PER_SPELLED_CHARACTER, SECONDS_PER_WORD
from clerkship.formats.phone_tree.recorder import MAX_SILENCE_SECONDS
from clerkship.formats.phone_tree.shipped import list_trees, load_tree
from clerkship.formats.phone_tree.step_draft import MAX_TYPED_AHEAD
from clerkship.simulators.voice.calls import BEEP
from clerkship.simulators.voice.checks import MAX_DIGITS
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.dialling import (
    BUSY_SECONDS,
    BUSY_TONE,
    CONNECT_SECONDS,
    MAILBOX_RING_SECONDS,
    MAX_RING_SECONDS,
    PERSON_RING_SECONDS,
)
from clerkship.simulators.voice.far_ends import MAX_HOOKS_AT_ONCE, MAX_TRANSFERS
from clerkship.simulators.voice.hooks.registry import HOOKS
from clerkship.simulators.voice.mailboxes import MAX_VOICEMAILS
from clerkship.simulators.voice.operations import DEFAULT_HEAR_SECONDS, MAX_PAGE, MAX_WAIT_SECONDS
from clerkship.simulators.voice.records import CallOutcome
from clerkship.simulators.voice.websocket import COMMANDS, VoiceSocket
from scripts.reference.render import render_page
from scripts.reference.tables import rows

SCRIPTS = {"front_desk": "receptionist", "pharmacy": "pharmacist", "provider_line": "provider_representative"}
"""The script that ships for the representative of each tree."""
OUTCOMES: dict[CallOutcome, str] = {
    "completed": "it was connected, and one side hung up",
    "busy": "the number was busy",
    "no_answer": "it rang, and was not answered",
    "rejected": "the agent rejected an incoming call",
    "failed": "the number is not in service",
    "dropped": "the connection broke, or a limit was reached",
    "abandoned": "the agent hung up while it rang, or while the line had it on hold",
}
REFUSALS = {
    "bad_number": "text that is no phone number, or a `from` that is not an own number",
    "emergency_number": "911 or 112, which reach emergency services; such a call is never placed",
    "short_number": "another number of three digits, such as 411 or 988; the reason says what it reaches",
    "bad_digits": f"keys other than 0-9, `*` and `#`, or more than {MAX_DIGITS} at once",
    "bad_text": "text without words, or with control characters",
    "too_long": "more than `max_text` characters at once",
    "no_such_call": "there is no call with the id",
    "call_ended": "the call has ended",
    "not_connected": "the call still rings",
    "on_hold": "the agent has put the call on hold; it must resume it first",
    "not_on_hold": "the agent has not put the call on hold",
    "not_incoming": "only calls to an own number are answered or rejected",
    "already_answered": "the call is answered already",
    "not_ringing": "the mailbox has taken the call",
    "too_many_calls": "`max_open_calls` or `max_calls` is reached",
    "no_such_mailbox": "the agent has no mailbox with the name",
    "no_such_voicemail": "there is no voicemail with the id, or it was deleted",
    "bad_url": "the webhook is not an http or https URL",
    "bad_message": "a message over the WebSocket that is not valid",
}


def voice_page() -> str:
    """Return the page of the telephone."""
    return render_page(
        "voice.md",
        busy=BUSY_TONE,
        beep=BEEP,
        hear=f"{DEFAULT_HEAR_SECONDS} s",
        times=rows(_list_times()),
        meets=rows(_list_meets()),
        outcomes=rows((f"`{outcome}`", OUTCOMES[outcome]) for outcome in get_args(CallOutcome)),
        commands=", ".join(f"`{name}`" for name in COMMANDS),
        trees=rows(_list_trees()),
        hooks=rows(_list_hooks()),
        limits=rows(_list_limits()),
        refusals=rows((f"`{code}`", reason) for code, reason in REFUSALS.items()),
    )


def _list_times() -> Iterator[tuple[str, str]]:
    yield "a word", f"{SECONDS_PER_WORD:g} s"
    yield "a digit, or a letter on its own", f"{SECONDS_PER_SPELLED_CHARACTER:g} s"
    yield "a pause at a comma or full stop", f"{SECONDS_PER_PAUSE:g} s"
    yield "the ringing of a line", "`ring` of the line"
    yield "the ringing of a simulated person", f"{PERSON_RING_SECONDS:g} s"
    yield "the ringing before a mailbox answers", f"{MAILBOX_RING_SECONDS:g} s"
    yield "the ringing without an answer", f"{MAX_RING_SECONDS:g} s"
    yield "the ringing of an incoming call", "`ring_timeout`"
    yield "silence after which a recording ends", f"{MAX_SILENCE_SECONDS:g} s"


def _list_meets() -> Iterator[tuple[str, str, str]]:
    yield "a line", "its phone tree, or else its first representative, answers", "`completed`"
    yield "a line that is busy", f"a busy tone at once, for {BUSY_SECONDS:g} s", "`busy`"
    yield "a line without an answer", "its mailbox answers, or else it rings on", "`completed`, `no_answer`"
    yield "a line out of service", f"an announcement after {CONNECT_SECONDS:g} s", "`failed`"
    yield "any other number", f"an announcement after {CONNECT_SECONDS:g} s", "`failed`"
    yield "911, 988, 411 and other short numbers", "the call is refused: they are never called from a test", "none"
    yield "a person of the scenario", "the person answers; busy in another call", "`completed`, `busy`"
    yield "the `access_number` of a mailbox", "a menu that plays its messages, after the PIN", "`completed`"
    yield "an own number", "its mailbox answers, or else it is busy", "`completed`, `busy`"


def _list_trees() -> Iterator[tuple[str, ...]]:
    for name in list_trees():
        tree = load_tree(name)
        nodes = tree.nodes.values()
        values = [f"`{value}` ({text})" for value, text in tree.values.items()]
        mailboxes = dict.fromkeys(node.mailbox for node in nodes if isinstance(node, VoicemailNode))
        transfers = dict.fromkeys(node.representative for node in nodes if isinstance(node, TransferNode))
        scripts = [f"`{each}` (`{SCRIPTS[name]}`)" for each in transfers if each]
        needed = [HOOKS[node.hook].needs for node in nodes if isinstance(node, HookNode)]
        domains = dict.fromkeys(each for each in needed if each)
        yield f"`{name}`", ", ".join(values), _quote(mailboxes), ", ".join(scripts), _quote(domains)


def _list_hooks() -> Iterator[tuple[str, str, str, str, str]]:
    for hook in HOOKS.values():
        inputs = [f"`{name}`" for name in hook.inputs] + [f"`{name}` (optional)" for name in hook.optional]
        yield f"`{hook.name}`", hook.summary, ", ".join(inputs), _quote(hook.outcomes), _quote(hook.outputs)


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _list_limits() -> Iterator[tuple[str, str]]:
    config = VoiceConfig()
    yield "calls open at once", f"`max_open_calls`, {config.max_open_calls:,} by default"
    yield "calls in all", f"`max_calls`, {config.max_calls:,} by default"
    yield "the length of a call", "`max_call_length`; it is then dropped"
    yield "characters said at once", f"`max_text`, {config.max_text:,} by default"
    yield (
        "speech to a phone tree or a representative",
        f"`max_speech`, {config.max_speech.total_seconds():g} s by default; it is then interrupted",
    )
    yield "keys pressed at once, and kept for later menus", f"{MAX_DIGITS}, {MAX_TYPED_AHEAD}"
    yield "transfers of a call", f"{MAX_TRANSFERS}; it is then dropped"
    yield "hooks that run one after another", f"{MAX_HOOKS_AT_ONCE}; the call is then dropped"
    yield "seconds of one `hear` or `wait`", f"{MAX_WAIT_SECONDS:,}"
    yield "voicemails", f"{MAX_VOICEMAILS:,}"
    yield "entries of a page", f"{MAX_PAGE:,}"
    yield "a message over the WebSocket", f"{VoiceSocket.max_message:,} bytes"
