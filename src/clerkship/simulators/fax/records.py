"""What is known of a fax."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from clerkship.events.event import Event
from clerkship.formats.fax_pages.document import DocumentFormat
from clerkship.formats.fax_pages.page import Resolution
from clerkship.model.frozen import Frozen
from clerkship.sandbox.state import DueWork

Direction = Literal["inbound", "outbound"]
FaxStatus = Literal["queued", "sending", "retrying", "delivered", "partial", "busy", "no_answer", "failed", "received"]
"""A sent fax ends in `delivered`, `partial`, `busy`, `no_answer` or `failed`; one that arrived is `received`."""
FINAL_STATUSES: frozenset[FaxStatus] = frozenset({"delivered", "partial", "busy", "no_answer", "failed", "received"})


class FaxPart(Frozen):
    """One document of a fax, and its pages."""

    name: str
    format: DocumentFormat
    pages: Annotated[tuple[str, ...], Field(description="the hash of each page, in order")]


class NumberedPage(NamedTuple):
    """A page of a fax, and its place."""

    number: int
    """Its place in the fax, from 1."""
    document: int
    """The number of its document in the fax, from 1."""
    number_in_document: int
    """Its place in the document, from 1."""
    name: str
    """The name of its document."""
    hash: str

    @property
    def caption(self) -> str:
        """The page in words."""
        return f"page {self.number} ({self.name})" if self.name else f"page {self.number}"


class FaxHeader(Frozen):
    """A fax without its pages."""

    id: str
    direction: Direction
    sender: Annotated[str, Field(description="the number that it comes from, in E.164")]
    to: Annotated[str, Field(description="the number that it goes to, in E.164")]
    parts: tuple[FaxPart, ...]
    resolution: Resolution = "fine"
    header_text: Annotated[str, Field(description="the sender's name in the line at the top of each page")] = ""
    max_retries: int = 3
    retry_delay: Annotated[float, Field(description="simulated seconds between two attempts")] = 60.0
    labels: dict[str, str] = {}
    in_reply_to: Annotated[str | None, Field(description="the id of a fax that arrived, if the agent says so")] = None

    @property
    def pages(self) -> tuple[str, ...]:
        """The hash of each page, in order."""
        return tuple(page for part in self.parts for page in part.pages)

    def list_pages(self) -> list[NumberedPage]:
        """Return the pages with their places, in order."""
        pages: list[NumberedPage] = []
        for document, part in enumerate(self.parts, 1):
            first = len(pages) + 1
            pages += [
                NumberedPage(first + place, document, place + 1, part.name, hash)
                for place, hash in enumerate(part.pages)
            ]
        return pages


@dataclass
class FaxRecord:
    """A fax and what became of it. `event` is its FaxQueued or FaxArrived."""

    event: Event
    header: FaxHeader
    number: int
    """Its place among all faxes, from 1."""
    status: FaxStatus
    status_at: datetime
    attempts: int = 0
    pages_sent: int = 0
    error: str = ""
    is_read: bool = False
    is_content_deleted: bool = False
    due: DueWork | None = None
    """When its status changes next, and the number of the event that scheduled it."""
    line_call: int = 0
    """The call to its number that is under way or was made last: the first one ever of any fax is 1."""
    answered: FaxHeader | None = None
    """The fax that it answers, if the agent says so and it arrived."""

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def created_at(self) -> datetime:
        """When it was accepted or has arrived."""
        return self.event.at

    @property
    def is_under_way(self) -> bool:
        """Whether it is neither delivered nor given up."""
        return self.status not in FINAL_STATUSES

    @property
    def pages(self) -> list[NumberedPage]:
        return self.header.list_pages()

    @property
    def received_pages(self) -> list[NumberedPage]:
        """The pages that the recipient has."""
        return self.pages[: self.pages_sent]

    def describe(self) -> str:
        """Return the number, the pages and the status."""
        count = len(self.header.pages)
        number = f"{count} page{'s' if count != 1 else ''}"
        return f"{number} to {self.header.to}, {self.status.replace('_', ' ')} (#{self.event.seq})"

    @property
    def is_inbound(self) -> bool:
        """Whether it arrived."""
        return self.header.direction == "inbound"

    @property
    def is_unread(self) -> bool:
        """Whether it arrived and the agent has not read it."""
        return self.is_inbound and not self.is_read

    @property
    def correspondent(self) -> str:
        """The number at the other end."""
        return self.header.sender if self.is_inbound else self.header.to
