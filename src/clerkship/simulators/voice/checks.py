"""Checks of what the agent does in a call, before anything changes."""

import re

from clerkship.model.conversation_key import normalize_phone
from clerkship.sandbox.request import Refusal
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.records import PhoneCall

MAX_DIGITS = 60
"""Keys pressed at once."""
EMERGENCY = "emergency services"
SHORT_NUMBERS = {
    "112": EMERGENCY,
    "211": "community and social services",
    "311": "the services of a city",
    "411": "directory assistance",
    "511": "traffic information",
    "611": "the phone company's customer service",
    "711": "the relay service for people who are deaf or hard of hearing",
    "811": "the office that marks buried lines before digging",
    "911": EMERGENCY,
    "988": "the suicide and crisis lifeline",
}
"""Numbers of three digits that are the same everywhere in the United States, and what they reach."""
_SEPARATORS = re.compile(r"[\s().-]+")
_DIGITS = re.compile(r"[0-9*#]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_number(text: str) -> str:
    """Return a phone number in E.164; refused if the text is none."""
    number = normalize_phone(text)
    if number is None:
        raise Refusal(400, "bad_number", f"{clean(text)!r} is not a phone number (expected one such as +15550100123)")
    return number


def find_short_service(text: str) -> str:
    """Return what a short number such as 911 reaches; empty if a text is no such number."""
    return SHORT_NUMBERS.get(_SEPARATORS.sub("", text[:MAX_DIGITS].removeprefix("tel:")), "")


def check_dialled(text: str) -> str:
    """Return the number that is dialled, in E.164; refused if it is none, or a short number, which no line has."""
    service = find_short_service(text)
    if not service:
        return check_number(text)
    code = "emergency_number" if service == EMERGENCY else "short_number"
    raise Refusal(
        403, code, f"{clean(text)} reaches {service}, which is never called from a test; the call was not placed"
    )


def check_own_number(text: str | None, settings: VoiceConfig) -> str:
    """Return the own number that a call comes from, the first by default; refused if it is not an own number."""
    if text is None:
        return settings.numbers[0]
    number = check_number(text)
    if number not in settings.numbers:
        owned = ", ".join(settings.numbers)
        raise Refusal(400, "bad_number", f"{number} is not a number of the organization (expected: {owned})")
    return number


def check_text(text: str, settings: VoiceConfig) -> str:
    """Return words to say; refused if there are none, too many, or control characters among them."""
    if len(text) > settings.max_text:
        raise Refusal(
            413, "too_long", f"at most {settings.max_text:,} characters are said at once, not {len(text):,}; say less"
        )
    match = _CONTROL.search(text)
    if match is not None:
        raise Refusal(
            400, "bad_text", f"character U+{ord(match[0]):04X} at {match.start()} cannot be said (expected words)"
        )
    if not re.search(r"\w", text):
        raise Refusal(400, "bad_text", "there is nothing to say: the text has no words")
    return text


def check_digits(digits: str) -> str:
    """Return keys to press; refused if they are not keys of a telephone, or too many."""
    if len(digits) > MAX_DIGITS:
        raise Refusal(400, "bad_digits", f"at most {MAX_DIGITS} keys are pressed at once, not {len(digits)}")
    if _DIGITS.fullmatch(digits) is None or not digits.isascii():
        raise Refusal(400, "bad_digits", f"{clean(digits)!r} are not keys of a telephone (expected: 0-9, * and #)")
    return digits


def check_open(call: PhoneCall) -> None:
    """Refuse to act in a call that has ended."""
    if call.status == "ended":
        raise Refusal(409, "call_ended", f"call {call.id} has ended ({call.outcome})")


def check_connected(call: PhoneCall) -> None:
    """Refuse to act in a call that is not connected."""
    check_open(call)
    if call.status != "connected":
        advice = "answer it first" if call.direction == "inbound" else "listen until it is answered"
        raise Refusal(409, "not_connected", f"call {call.id} is still ringing; {advice}")


def check_answered(call: PhoneCall) -> None:
    """Refuse to listen to an incoming call that is not answered."""
    if call.status == "ringing" and call.direction == "inbound":
        raise Refusal(409, "not_connected", f"call {call.id} is still ringing; answer it first")


def check_not_held(call: PhoneCall) -> None:
    """Refuse to speak or press keys in a call that the agent has put on hold."""
    check_connected(call)
    if call.is_held_by_agent:
        raise Refusal(409, "on_hold", f"call {call.id} is on hold; resume it first")


def clean(text: str) -> str:
    """Return the beginning of a text in valid Unicode, for errors and events."""
    return text[:40].encode(errors="replace").decode()
