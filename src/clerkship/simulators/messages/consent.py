"""Consent to text messages: the words that opt out and in, and the automatic replies to them.

They are those of Twilio's default handling of opt-out: a message that consists of one such word, in any case, counts
for the pair of numbers.
"""

from typing import Literal

Consent = Literal["opted_in", "opted_out"]
KeywordKind = Literal["stop", "start", "help"]
STOP_WORDS = ("STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "OPTOUT", "REVOKE")
START_WORDS = ("START", "YES", "UNSTOP")
HELP_WORDS = ("HELP", "INFO")
_KINDS: dict[str, KeywordKind] = {
    **dict.fromkeys(STOP_WORDS, "stop"),
    **dict.fromkeys(START_WORDS, "start"),
    **dict.fromkeys(HELP_WORDS, "help"),
}
MAX_KEYWORD = max(map(len, _KINDS))


def find_keyword(text: str) -> tuple[KeywordKind, str] | None:
    """Return the kind of keyword that a text message consists of, and the word in capitals; None if it is none."""
    word = text.strip()
    if len(word) > MAX_KEYWORD:
        return None
    kind = _KINDS.get(word.upper())
    return None if kind is None else (kind, word.upper())


def find_effective_keyword(text: str, consent: Consent) -> tuple[KeywordKind, str] | None:
    """Return the keyword of a text message if it has an effect.

    START and YES have none for a contact who has not opted out, so that "reply YES to confirm" works. STOP has none for
    one who has. HELP is always answered: carriers demand it also after STOP.
    """
    keyword = find_keyword(text)
    if keyword is None or keyword[0] == "help":
        return keyword
    return keyword if (consent == "opted_out") == (keyword[0] == "start") else None


def build_automatic_reply(kind: KeywordKind, organization: str, help_text: str = "") -> str:
    """Return the text of the automatic reply to a keyword."""
    if kind == "stop":
        return f"{organization}: you are unsubscribed and will get no more messages. Reply START to subscribe again."
    if kind == "start":
        return f"{organization}: you are subscribed to messages again. Reply HELP for help, STOP to unsubscribe."
    return help_text or f"{organization}: reply STOP to unsubscribe. Message and data rates may apply."
