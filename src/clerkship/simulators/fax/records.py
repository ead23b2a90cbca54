"""What is known of a fax."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.document import DocumentFormat
from clerkship.formats.fax_pages.page import Resolution
from clerkship.model.frozen import Frozen

Direction = Literal["inbound", "outbound"]
FaxStatus = Literal["queued", "sending", "retrying", "delivered", "partial", "busy", "no_answer", "failed", "received"]
"""A sent fax ends in `delivered`, `partial`, `busy`, `no_answer` or `failed`; one that arrived is `received`."""
FINAL_STATUSES: frozenset[FaxStatus] = frozenset({"delivered", "partial", "busy", "no_answer", "failed", "received"})


class FaxPart(Frozen):
    """One document of a fax, and its pages."""

    name: str
    format: DocumentFormat
    pages: Annotated[tuple[str, ...], Field(description="the hash of each page, in order")]


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


@dataclass
class FaxRecord:
    """A fax and what became of it."""

    header: FaxHeader
    created_at: datetime
    number: int
    """Its place among all faxes, from 1."""
    status: FaxStatus
    status_at: datetime
    attempts: int = 0
    pages_sent: int = 0
    error: str = ""
    is_read: bool = False
    is_content_deleted: bool = False
    due: tuple[datetime, int] | None = field(default=None)
    """When its status changes next, and the number of the event that scheduled it."""
    line_call: int = 0
    """The call to its number that is under way or was made last: the first one ever of any fax is 1."""

    @property
    def id(self) -> str:
        """Its id."""
        return self.header.id

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
