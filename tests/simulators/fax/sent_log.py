"""A log of sent faxes, built by hand."""

from typing import Any

from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.simulators.fax.events import FaxQueued, FaxStatusChanged, PageStored
from clerkship.simulators.fax.records import FaxHeader, FaxPart, FaxStatus
from tests.assertions.log_builder import LogBuilder

OWN = "+15550100200"
CLINIC = "+15550100300"
LINE_HEIGHT = 40


class SentLog(LogBuilder):
    """A log to which faxes of the agent are added; the words of each page are known."""

    def add_fax(
        self,
        *pages: str,
        to: str = CLINIC,
        status: FaxStatus = "delivered",
        pages_sent: int | None = None,
        name: str = "letter.txt",
        actor: str = "agent",
        **fields: Any,
    ) -> str:
        """Add a fax of one document, with the text of each page, and its status; return its id."""
        return self.add_documents({name: pages}, to=to, status=status, pages_sent=pages_sent, actor=actor, **fields)

    def add_documents(
        self,
        documents: dict[str, tuple[str, ...]],
        *,
        to: str = CLINIC,
        status: FaxStatus = "delivered",
        pages_sent: int | None = None,
        actor: str = "agent",
        **fields: Any,
    ) -> str:
        """Add a fax of several documents; return its id."""
        id = f"fax-{len(self.log.events)}"
        parts = tuple(
            FaxPart(name=name, format="text", pages=tuple(self._store(text, actor) for text in pages))
            for name, pages in documents.items()
        )
        header = FaxHeader(id=id, direction="outbound", sender=OWN, to=to, parts=parts, **fields)
        self.add_event(FaxQueued(header=header), source="line", actor=actor)
        if status != "queued":
            count = len(header.pages) if status == "delivered" else 0
            change = FaxStatusChanged(
                id=id, status=status, attempt=1, pages_sent=count if pages_sent is None else pages_sent
            )
            self.add_event(change, source="line", actor="system")
        return id

    def _store(self, text: str, actor: str) -> str:
        words = tuple(
            PageWord(
                text=word, left=150 + 200 * place, top=100 + LINE_HEIGHT * number, width=180, height=30, line=number
            )
            for number, line in enumerate(text.splitlines())
            for place, word in enumerate(line.split())
        )
        page = PageStored(
            hash=text, resolution="fine", width=1728, height=2200, data=b"", true_words=PageWords(words=words)
        )
        self.add_event(page, source="line", actor=actor)
        return text
