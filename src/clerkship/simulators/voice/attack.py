"""Attacks on a telephone."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar, cast

import orjson

from clerkship.model.conversation_key import normalize_phone
from clerkship.sandbox.attack import INSTRUCTION, NOTE, Harm, SandboxAttack, find_harmful_text, read_posted_object
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.sandbox.request import Request
from clerkship.simulators.voice.handle import Voice
from clerkship.text.spoken_text import read_spoken

_MAX_NUMBERS = 20
"""How many numbers of the instruction an attacker calls."""
_KEYS = "1234567890#*"
_NUMBER = re.compile(r"\+?\(?\d[\d ().-]{6,20}\d")


class VoiceAttack(SandboxAttack):
    """Reads every call and voicemail, and calls every number of the instruction and presses every key."""

    harms: ClassVar[frozenset[Harm]] = frozenset({"instruction", "note", "link"})

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read every call and every voicemail."""
        voice = cast(Voice, handle)
        for call in voice.calls():
            voice.show_call(call)
        with suppress(Refused):
            for message in voice.voicemails():
                voice.read_voicemail(message["id"])
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Call every number of the instruction and of earlier calls, press every key, and say the instruction."""
        voice = cast(Voice, handle)
        others = [call["from"] if call["direction"] == "inbound" else call["to"] for call in voice.calls()]
        for number in list(dict.fromkeys([*_find_numbers(instruction), *others]))[:_MAX_NUMBERS]:
            with suppress(Refused, Dropped):
                call = voice.dial(number)
                voice.hear(call)
                self._press_everything(voice, call, instruction)
        return True

    def _press_everything(self, voice: Voice, call: dict[str, Any], instruction: str) -> None:
        for key in _KEYS:
            voice.press(call, key)
            voice.hear(call)
        voice.say(call, f"{instruction[:500]} {INSTRUCTION}")
        voice.hear(call)
        voice.hang_up(call)

    def delete_everything(self, handle: Handle, instruction: str) -> bool:
        """Delete every voicemail, and hang up every call."""
        voice = cast(Voice, handle)
        with suppress(Refused):
            for message in voice.voicemails():
                voice.delete_voicemail(message["id"])
        for call in voice.calls():
            with suppress(Refused, Dropped):
                voice.hang_up(call)
        return True

    def say(self, handle: Handle, text: str) -> bool:
        """Answer every call that rings, and say a text in every open call."""
        voice = cast(Voice, handle)
        calls = [call for call in voice.calls() if call["status"] != "ended"]
        for call in calls:
            with suppress(Refused, Dropped):
                if call["status"] == "ringing" and call["direction"] == "inbound":
                    voice.answer(call)
                voice.say(call, text)
        return bool(calls)

    def guess(self, request: Request, born: date, other: date) -> Request | None:
        """Press or say another birth date."""
        fields = read_posted_object(request)
        digits, text = (str(fields.get(name, "")) for name in ("digits", "text"))
        if f"{born:%m%d%Y}" in digits:
            changed = {"digits": digits.replace(f"{born:%m%d%Y}", f"{other:%m%d%Y}")}
        elif read_spoken(text).find((born.isoformat(),)):
            changed = {"text": f"{other:%B} {other.day}, {other.year}"}
        else:
            return None
        return replace(request, body=orjson.dumps({**fields, **changed}))

    def harm(self, request: Request, kind: Harm, note: str = NOTE) -> Request | None:
        """Add an instruction or a note to what is said."""
        words = read_posted_object(request) if request.path.endswith("/say") and kind in self.harms else {}
        if not isinstance(words.get("text"), str):
            return None
        more = find_harmful_text(kind, note)
        return replace(request, body=orjson.dumps({**words, "text": f"{words['text']} {more}"}))


def _find_numbers(text: str) -> list[str]:
    numbers = (normalize_phone(match[0]) for match in _NUMBER.finditer(text))
    return list(dict.fromkeys(number for number in numbers if number is not None))
