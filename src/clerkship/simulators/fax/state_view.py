"""What is shown of a fax line at one moment: what has arrived, and what was sent."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.fax.state import FaxState

UNKNOWN_WORDS = "(a picture)"
"""Stands for a page whose words are not known."""


def list_rows(state: FaxState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the faxes with the first words of each page."""
    for fax in state.faxes.values():
        header, pages = fax.header, [_read_page(state, trial, hash) for hash in fax.header.pages]
        facts: dict[str, Any] = {
            "at": fax.created_at.isoformat(),
            "from": header.sender,
            "to": header.to,
            "status": fax.status,
        }
        facts |= {"pages": len(pages), "documents": ", ".join(part.name for part in header.parts if part.name)}
        facts |= {"unread": "yes"} if fax.is_unread else {}
        facts |= {"pages sent": fax.pages_sent, "attempts": fax.attempts} if fax.attempts else {}
        facts |= {"error": fax.error} if fax.error else {}
        facts |= {"content": "deleted"} if fax.is_content_deleted else {}
        more = {"sender's name": header.header_text, "in reply to": header.in_reply_to, "text of pages": pages}
        data = {**facts, **more}
        title = " ".join(" ".join(pages).split()) or fax.id
        yield StateRow(fax.id, "inbox" if fax.is_inbound else "outbox", title, facts, partial(dict, data))


def _read_page(state: FaxState, trial: ViewedTrial, hash: str) -> str:
    """Return the words of a page. They are read once, because a search for values in them takes long."""
    page = state.index.pages.get(hash)
    if page is None or page.true_words is None:
        return UNKNOWN_WORDS
    if hash not in trial.cache:
        trial.cache[hash] = trial.read_words(page.true_words)
    words: str = trial.cache[hash]
    return words
