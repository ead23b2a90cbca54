"""Redact speech that was cut: a part of a value may stand alone, before a cut or on one side of a beep."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from clerkship.model.redaction import Redactor

SPOKEN = frozenset({"voice.agent.spoke", "voice.far_end.spoke"})
CUT = "voice.speech.cut"
LEFT = "voice.voicemail.left"


class SpeechRedactor:
    """Redacts what is left of speech with a value in it. It must see the events of a log in order."""

    def __init__(self, by: Redactor) -> None:
        self._by = by
        self._spoken: dict[tuple[str, str, int], str] = {}
        """Speech with a value in it, redacted, by sandbox, call and number of the turn."""

    def redact(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event without parts of values. Whole values are left to the redactor of texts."""
        payload, kind = event["payload"], event["kind"]
        if kind in SPOKEN:
            self._remember(event)
        elif kind == CUT:
            spoken = self._spoken.get(_find_key(event))
            if spoken is not None:
                return event | {
                    "payload": payload | {"heard": _find_start(spoken, self._by.text(_read(payload, "heard")))}
                }
        elif kind == LEFT:
            return event | {"payload": payload | self._redact_voicemail(payload)}
        return event

    def _remember(self, event: Mapping[str, Any]) -> None:
        text = _read(event["payload"], "text")
        redacted = self._by.text(text)
        if redacted != text:
            self._spoken[_find_key(event)] = redacted

    def _redact_voicemail(self, payload: Mapping[str, Any]) -> dict[str, str]:
        """Return the two parts of a message without a value that the beep divides."""
        before, after = _read(payload, "before_beep"), _read(payload, "text")
        parts = self._by.text(before), self._by.text(after)
        whole = self._by.text(f"{before} {after}")
        if not before or whole == " ".join(parts):
            return {}
        return {"before_beep": _find_start(whole, parts[0]), "text": _find_end(whole, parts[1])}


def _find_key(event: Mapping[str, Any]) -> tuple[str, str, int]:
    payload = event["payload"]
    return event["source"], payload.get("call", ""), payload.get("number", 0)


def _read(payload: Mapping[str, Any], field: str) -> str:
    """Return a text, or nothing if it is stored outside the log."""
    text = payload.get(field)
    return text if isinstance(text, str) else ""


def _find_start(whole: str, part: str) -> str:
    """Return the start of a part up to where it differs from the whole text without values."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(whole, part, strict=False))
    return "".join(character for character, _ in same)


def _find_end(whole: str, part: str) -> str:
    return _find_start(whole[::-1], part[::-1])[::-1]
