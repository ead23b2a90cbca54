"""TwiML: what an agent answers to the webhook of a text message."""

from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

XML_TYPES = frozenset({"", "text/xml", "application/xml", "text/html"})
"""Media types that Twilio parses as TwiML; an answer without a type is TwiML, too."""
PLAIN_TEXT = "text/plain"
UNSUPPORTED_VERBS = {"Redirect": "twiml_redirect"}
"""Verbs of Messaging that are refused -> the reason in the log."""
_NESTED = frozenset({"Body", "Media"})


class BadTwiml(ValueError):
    """An answer that is not TwiML, or has a verb that is not simulated. `reason` is a code for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class TwimlMessage:
    """One `<Message>`: its text and media, and its numbers if it states them."""

    text: str = ""
    to: str = ""
    sender: str = ""
    media: list[str] = field(default_factory=list)


def parse_answer(media: str, body: bytes) -> list[TwimlMessage]:
    """Return the messages of an answer to a webhook. Raise BadTwiml.

    An answer in plain text is one message, as in Twilio. Nothing is returned if any part of an answer is refused.
    """
    media = media.partition(";")[0].strip().lower()
    if not body.strip():
        return []
    if media == PLAIN_TEXT:
        try:
            return [TwimlMessage(body.decode().strip())]
        except UnicodeDecodeError:
            raise BadTwiml("bad_text") from None
    if media not in XML_TYPES:
        raise BadTwiml("bad_content_type")
    return _TwimlParser().parse(body)


class _TwimlParser:
    """Collects the messages of a document. A document type is refused, so there are no entities to expand."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._read_text
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._path: list[str] = []
        self._messages: list[TwimlMessage] = []

    def parse(self, body: bytes) -> list[TwimlMessage]:
        """Parse a document; raise BadTwiml."""
        try:
            self._parser.Parse(body.strip(), True)
        except BadTwiml:
            raise
        # Other exceptions are of the encoding: a LookupError if it is unknown, a ValueError if it is a multi-byte one.
        except (expat.ExpatError, LookupError, ValueError):
            raise BadTwiml("bad_twiml") from None
        for message in self._messages:
            message.text = message.text.strip()
            message.media = [url.strip() for url in message.media]
        return self._messages

    def _refuse_doctype(self, *_: Any) -> None:
        raise BadTwiml("twiml_doctype")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        if not parent:
            if name != "Response":
                raise BadTwiml("bad_twiml")
        elif parent == "Response" and name in ("Message", "Sms"):  # <Sms> is the old name of <Message>
            self._messages.append(TwimlMessage("", attributes.get("to", ""), attributes.get("from", "")))
        elif parent not in ("Message", "Sms") or name not in _NESTED:
            raise BadTwiml(UNSUPPORTED_VERBS.get(name, "twiml_unsupported"))
        elif name == "Media":
            self._messages[-1].media.append("")

    def _end(self, name: str) -> None:
        self._path.pop()

    def _read_text(self, text: str) -> None:
        if self._path[-1:] == ["Media"]:
            self._messages[-1].media[-1] += text
        elif len(self._path) > 1:
            self._messages[-1].text += text
        elif text.strip():
            raise BadTwiml("bad_twiml")
