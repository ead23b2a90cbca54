"""Redact the logs of a run for reports: their lines, bodies, pages of faxes, and what is said on the phone."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, cast

import orjson

from clerkship.by_name import load
from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.model.redaction import Redactor
from clerkship.model.run import BenchmarkRun, PageBox
from clerkship.report.fax_pages import PAGE_STORED, load_field
from clerkship.service.redacting import build_run_redactor, uses_redacted_values
from clerkship.store.contract import Store

SPOKEN = frozenset({"voice.agent.spoke", "voice.far_end.spoke"})
CUT = "voice.speech.cut"
LEFT = "voice.voicemail.left"
MAX_VALUE_WORDS = 30
"""Words of a page that one value is searched in. Spaces and line breaks divide a value into words."""
EDGE = 6
"""Dots around a word that are blacked out with it."""
REDACTED_WORD = "[redacted]"
_MARKER = f'"{PAGE_STORED}"'.encode()
_SPEECH_MARKERS = tuple(f'"kind":"{kind}"'.encode() for kind in (*sorted(SPOKEN), CUT, LEFT))


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


def find_hidden_words(words: PageWords, by: Redactor) -> list[int]:
    """Return the places of the words that hold a value, also of those that hold a part of it."""
    texts = [word.text for word in words.words]
    if not _has_value(texts, by):
        return []
    hidden: set[int] = set()
    for start in range(len(texts)):
        if start in hidden:
            continue
        for end in range(start + 1, min(start + MAX_VALUE_WORDS, len(texts)) + 1):
            if _has_value(texts[start:end], by):
                first = next(place for place in reversed(range(start, end)) if _has_value(texts[place:end], by))
                hidden.update(range(first, end))
                break
    return sorted(hidden)


def _has_value(texts: Sequence[str], by: Redactor) -> bool:
    """Return whether a value is in words, which may be divided by spaces or, as across lines, by nothing."""
    return any(by.text(joined) != joined for joined in (" ".join(texts), "".join(texts)))


def replace_words(words: PageWords, places: Sequence[int]) -> PageWords:
    """Return the words, without the text of some."""
    hidden = set(places)
    replaced = (
        word._replace(text=REDACTED_WORD) if place in hidden else word for place, word in enumerate(words.words)
    )
    return PageWords(words=tuple(replaced))


def redact_page_words(event: dict[str, Any], by: Redactor) -> dict[str, Any]:
    """Return an event without words of a page that hold a value; other events as they are."""
    stored = event["payload"].get("true_words") if event["kind"] == PAGE_STORED else None
    if stored is None:
        return event
    words = PageWords.model_validate(stored)
    replaced = replace_words(words, find_hidden_words(words, by)).model_dump(mode="json")
    return event | {"payload": event["payload"] | {"true_words": replaced}}


def black_out(tiff: bytes, words: Sequence[PageWord]) -> bytes:
    """Return the file of a page on which words are black; empty if the page cannot be drawn."""
    files = load("clerkship.formats.fax_pages.files")  # few logs have pages
    fill_boxes = load("clerkship.formats.fax_pages.image:fill_boxes")
    try:
        [page] = files.read_tiff(tiff)
        return cast(bytes, files.write_tiff([fill_boxes(page, [_widen(word) for word in words], black=True)]))
    except (ImportError, UnreadableDocument):
        return b""


def _widen(word: PageWord) -> PageBox:
    return word.left - EDGE, word.top - EDGE, word.width + 2 * EDGE, word.height + 2 * EDGE


class LogRedactor:
    """Redacts lines and the bodies that they name. A line must be redacted before its bodies are read."""

    def __init__(self, store: Store, run: BenchmarkRun) -> None:
        self._store = store
        self.by: Redactor = build_run_redactor(store, run)
        """For texts."""
        self._speech = SpeechRedactor(self.by)
        self._hides_unknown_pages = uses_redacted_values(store, run)
        self._bodies: dict[str, Callable[[bytes], bytes]] = {}
        """How to change the body of a page, by its digest."""

    def line(self, line: bytes) -> bytes:
        """Redact one line of a log."""
        if self.by and _MARKER in line:
            line = self._redact_page(line)
        if self.by and any(marker in line for marker in _SPEECH_MARKERS):
            line = orjson.dumps(self._speech.redact(orjson.loads(line)))
        return self.by.line(line)

    def body(self, digest: str) -> bytes:
        """Read a stored body and redact it. A page that may show a value, but whose words are not known, is empty."""
        change = self._bodies.get(digest)
        data = self._store.blob(digest)
        return self.by.body(data) if change is None else change(data)

    def body_reader(self, snapshot: str) -> Callable[[str], bytes]:
        """Return a function that reads bodies; that of a snapshot is not redacted, because it must stay valid."""
        return lambda digest: self._store.blob(digest) if digest == snapshot else self.body(digest)

    def _redact_page(self, line: bytes) -> bytes:
        """Return the line of a page without words that hold a value, and remember how to change its bodies."""
        event: dict[str, Any] = orjson.loads(line)
        if event["kind"] != PAGE_STORED:
            return line
        stored = load_field(event, "true_words", self._store.blob)
        picture = event.get("blobs", {}).get("data", {}).get("sha256", "")
        if stored is None:
            if self._hides_unknown_pages:
                self._bodies[picture] = _leave_out
            return line
        words = PageWords.model_validate(stored)
        hidden = find_hidden_words(words, self.by)
        if not hidden:
            return line
        self._bodies[picture] = partial(black_out, words=[words.words[place] for place in hidden])
        if "true_words" in event.get("blobs", {}):
            body = orjson.dumps(replace_words(words, hidden).model_dump(mode="json"))
            self._bodies[event["blobs"]["true_words"]["sha256"]] = lambda _: body
            return line
        return orjson.dumps(redact_page_words(event, self.by))


def _leave_out(data: bytes) -> bytes:
    return b""
