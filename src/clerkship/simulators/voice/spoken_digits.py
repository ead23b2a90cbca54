"""Digits that are said where a line asks for an entry, and how one of them is misheard."""

import re
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)

from clerkship.formats.phone_tree.nodes import CollectNode
from clerkship.formats.phone_tree.session import IvrSession, MailboxSession
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.events import DigitsSpoken
from clerkship.simulators.voice.far_ends import find_tree
from clerkship.simulators.voice.host import VoiceHost
from clerkship.simulators.voice.records import PhoneCall

DIGITS = "0123456789"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGIT = re.compile(rf"\d|\b(?:{'|'.join(WORDS)}|oh)\b", re.IGNORECASE | re.ASCII)


def count_digits(text: str) -> int:
    """Return how many digits are said, as words or as figures."""
    return sum(1 for _ in _DIGIT.finditer(text))


def replace_digit(text: str, rng: Random) -> str:
    """Return the text with one of its digits replaced by another: a word by a word, and a figure by a figure."""
    digit = rng.choice(list(_DIGIT.finditer(text)))
    said = digit.group().lower()
    others = [each for each in (DIGITS if said in DIGITS else WORDS) if each != ("zero" if said == "oh" else said)]
    return f"{text[: digit.start()]}{rng.choice(others)}{text[digit.end() :]}"


def understand_speech(state: VoiceHost, action: ActionContext, call: PhoneCall, text: str) -> str:
    """Return what the far end understands of what the agent has said; a fault may change a digit of an entry."""
    if not _awaits_entry(state, call) or not count_digits(text):
        return text
    spoken = action.apply_faults(DigitsSpoken(call=call.id, text=text, understood=text))
    action.emit(spoken)
    return spoken.understood


def _awaits_entry(state: VoiceHost, call: PhoneCall) -> bool:
    """Return whether the far end is a phone tree that collects a value, or a mailbox that asks for its PIN."""
    session = call.session
    if isinstance(session, MailboxSession):
        return session.step == "pin"
    tree = find_tree(state, call) if isinstance(session, IvrSession) else None
    return tree is not None and isinstance(tree.nodes.get(getattr(session, "node", "")), CollectNode)
