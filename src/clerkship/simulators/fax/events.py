"""Events of a fax line."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.events.event import EffectType, Payload, collect_events
from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.page import PageWords, Resolution
from clerkship.simulators.fax.records import FaxHeader, FaxPart, FaxStatus


class PageStored(Payload, kind="fax.page.stored"):
    """A page of a fax; comes before the event of the fax. A page that is stored already is not stored again."""

    holds_body: ClassVar[bool] = True
    freezes: ClassVar[bool] = False
    hash: str
    resolution: Resolution
    width: int
    height: int
    data: Annotated[bytes, Field(description="the page as a TIFF file, CCITT Group 4")]
    true_words: Annotated[
        PageWords | None,
        Field(description="the words that were drawn, for criteria; None if only the picture is known"),
    ] = None


class FaxQueued(Payload, kind="fax.queued"):
    """The agent sent a fax: its pages are rendered, and it waits for the line."""

    holds_body: ClassVar[bool] = True
    sums_up: ClassVar[bool] = True
    header: FaxHeader


class FaxArrived(Payload, kind="fax.arrived"):
    """A fax arrived at one of the organization's numbers."""

    is_by_sandbox: ClassVar[bool] = True
    header: FaxHeader


class FaxStatusChanged(Payload, kind="fax.status_changed"):
    """The status of a sent fax changed."""

    is_by_sandbox: ClassVar[bool] = True
    id: str
    status: FaxStatus
    attempt: int
    pages_sent: Annotated[int, Field(description="pages that the recipient has, of the last attempt")] = 0
    error: str = ""


class FaxRefused(Payload, kind="fax.refused"):
    """A fax was not accepted, with the reason."""

    effect: ClassVar[EffectType] = "none"
    code: str
    reason: str
    to: str = ""
    names: Annotated[tuple[str, ...], Field(description="the names of the documents")] = ()


class FaxRead(Payload, kind="fax.read"):
    """The agent read a fax: its pages as a file or a picture, or their OCR text."""

    effect: ClassVar[EffectType] = "none"
    id: str
    format: Annotated[str, Field(description="pdf, tiff, png or text")]
    page: Annotated[int | None, Field(description="the number of the page, from 1; None for all")] = None


class FaxMarked(Payload, kind="fax.marked"):
    """The agent marked a fax that arrived as read or unread."""

    effect: ClassVar[EffectType] = "state"
    id: str
    unread: bool = False


class FaxContentDeleted(Payload, kind="fax.content_deleted"):
    """The agent deleted the pages of a fax from the service. What is known of it otherwise stays."""

    id: str


class FaxWebhookRegistered(Payload, kind="fax.webhook_registered"):
    """The agent registered where it is called for faxes, or removed it; without the address."""

    registered: bool = True


class ReplyPlanned(Payload, kind="fax.reply_planned"):
    """A correspondent will send a fax after it got one from the organization. Its pages are stored without the line at
    the top.
    """

    is_by_sandbox: ClassVar[bool] = True
    sender: Annotated[str, Field(description="the number of the correspondent, in E.164")]
    to: Annotated[str, Field(description="the own number that the fax will arrive at")]
    delay: Annotated[float, Field(description="simulated seconds after the delivery of the fax that it answers")]
    parts: tuple[FaxPart, ...]
    missing_pages: tuple[int, ...] = ()
    header_text: str | None = None
    has_header: bool = True
    degradation: Degradation | None = None
    seed: str = ""
    fax_id: Annotated[str, Field(description="the id that the fax will have; a new one by default")] = ""


EVENTS = collect_events(globals())
