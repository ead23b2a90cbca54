"""Redact the logs of a run for reports: their lines, their bodies, and the pages of faxes among these."""

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from clerkship.formats.fax_pages.words import PageWords
from clerkship.model.redaction import Redactor
from clerkship.model.run import BenchmarkRun
from clerkship.report.fax_pages import PAGE_STORED, load_field
from clerkship.service.page_redaction import black_out, find_hidden_words, redact_page_words, replace_words
from clerkship.service.redacting import build_run_redactor, uses_redacted_values
from clerkship.service.speech_redaction import CUT, LEFT, SPOKEN, SpeechRedactor
from clerkship.store.contract import Store

_MARKER = f'"{PAGE_STORED}"'.encode()
_SPEECH_MARKERS = tuple(f'"kind":"{kind}"'.encode() for kind in (*sorted(SPOKEN), CUT, LEFT))


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
