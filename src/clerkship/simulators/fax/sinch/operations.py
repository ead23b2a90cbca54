"""The operations of the Sinch API. They are not tools: models get the operations of the sandbox itself."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field

from clerkship.formats.fax_pages.files import write_pdf, write_tiff
from clerkship.model.frozen import Frozen, Whole
from clerkship.sandbox.authentication.oauth import AccessToken, ClientCredentials, TokenRequest
from clerkship.sandbox.operation import Operation, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.fax.checks import check_number
from clerkship.simulators.fax.events import FaxRefused, FaxWebhookRegistered
from clerkship.simulators.fax.index import FaxFilter
from clerkship.simulators.fax.operations import Context
from clerkship.simulators.fax.outgoing import OutgoingDocument, OutgoingFax
from clerkship.simulators.fax.records import Direction, FaxRecord
from clerkship.simulators.fax.sinch.events import FaxTokenIssued
from clerkship.simulators.fax.sinch.request import NewSinchFax, refuse_argument
from clerkship.simulators.fax.sinch.resources import (
    STATUSES,
    CallbackType,
    SinchStatus,
    build_service_id,
    render_fax,
    render_page,
    render_service,
    render_time,
)
from clerkship.transports.outbound.event_webhook import register_url

ACCESS_TOKENS = ClientCredentials(lifetime=timedelta(hours=1), token_path="/oauth2/token")
"""OAuth 2, as Sinch's SDK authenticates: its key id is the client id and its key secret the client secret."""
INCOMING_LINK, COMPLETED_LINK = "incoming", "completed"
"""Names of callback addresses: `incoming/` and the type of the callback, `completed/`, the id of a fax and the type."""
NEW_FAX = "new"
"""Instead of the id, while a fax is not yet sent."""
COVER_PAGE = "cover_sheet"
"""The id of the only cover page."""
MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_SIZE = 100
CALLBACK_TYPES: tuple[CallbackType, ...] = get_args(CallbackType)
SinchEventName = Literal["INCOMING_FAX", "FAX_COMPLETED"]


class SinchProject(Frozen):
    """A project."""

    project: Annotated[str, Field(description="project id")]


class SinchFaxFilter(SinchProject):
    """Which faxes to list, the newest first. Times are a year, a month, a day, or a time in UTC."""

    direction: Direction | None = None
    status: SinchStatus | None = None
    to: Annotated[str, Field(description="the beginning of a number")] = ""
    sender: Annotated[str, Field(description="the beginning of a number")] = ""
    created: str = ""
    created_after: str = ""
    created_before: str = ""
    service: str = ""
    page: Annotated[Whole, Field(ge=1)] = 1
    page_size: Annotated[Whole, Field(ge=1, le=MAX_PAGE_SIZE)] = DEFAULT_PAGE_SIZE


class SinchFaxId(SinchProject):
    """A fax."""

    id: str


class SinchFaxFile(SinchFaxId):
    """A fax to download."""

    format: str = "pdf"


class SinchService(SinchProject):
    """A fax service."""

    service: str


class SinchCoverPage(SinchService):
    """A cover page."""

    cover: str


class SinchServiceUpdate(SinchService):
    """Where the agent is called for faxes that arrive; None does not change it."""

    url: str | None = None
    callback_type: CallbackType | None = None
    other_fields: tuple[str, ...] = ()


class SinchResource(Frozen):
    """A resource that is not simulated."""

    path: str


class SinchCallback(Frozen):
    """A fax that the agent is called for."""

    id: str
    event: SinchEventName


class SinchNotification(Frozen):
    """What the agent is told about a fax, and its pages as TIFF files."""

    event: SinchEventName
    at: str
    fax: dict[str, Any]
    pages: tuple[bytes, ...] = ()


class CreationRange(NamedTuple):
    """A range of times; the end is not included."""

    start: datetime
    end: datetime


@operation(access="login", tool=False, logs_body=False)
def issue_fax_token(context: Context, token_request: TokenRequest) -> AccessToken:
    """Issue an access token for an hour of simulated time."""
    token = ACCESS_TOKENS.issue(context, token_request)
    context.action.emit(FaxTokenIssued(expires_in=token.expires_in))
    return token


def _check_project(context: Context, project: str) -> None:
    own = context.state.config.project
    if project != own:
        raise Refusal(404, "no_such_project", f"there is no project {project[:40]} (expected: {own})")


def _check_service(context: Context, service: str) -> None:
    own = build_service_id(context.state.config.project)
    if service != own:
        raise Refusal(404, "no_such_service", f"there is no service {service[:40]} (expected: {own})")


@operation(tool=False, logs_body=False)
def create_sinch_fax(context: Context, new: NewSinchFax) -> dict[str, Any]:
    """Send a fax to a number, or to several; returns the fax, or a list of them."""
    _check_project(context, new.project)
    try:
        _check_new_fax(context, new)
    except Refusal as refusal:
        names = tuple(file.name[:255] for file in new.files[:20])
        context.action.emit(
            FaxRefused(code=refusal.code, reason=refusal.reason, to=", ".join(new.to)[:200], names=names)
        )
        raise
    sent = [_send(context, new, number) for number in new.to]
    return sent[0] if len(sent) == 1 else {"faxes": sent}


def _check_new_fax(context: Context, new: NewSinchFax) -> None:
    """Refuse what is not simulated, and a number or a URL that is not valid, before anything is sent."""
    if new.content_url:
        # A URL would be fetched by the sandbox, so it could reach what the agent cannot.
        raise Refusal(400, "url_not_fetched", "contentUrl: the sandbox fetches no URLs; send the file itself")
    if new.cover_page not in ("", COVER_PAGE):
        raise refuse_argument("coverPageId", f"there is no cover page {new.cover_page[:40]} (expected: {COVER_PAGE})")
    if new.resolution not in ("", "FINE"):
        raise refuse_argument("resolution", f"{new.resolution[:20]!r} is not simulated (expected: FINE)")
    if new.service:
        _check_service(context, new.service)
    for number in new.to:
        check_number(number, "to")
    if new.callback_url:
        refuse = partial(refuse_argument, "callbackUrl")
        register_url(context, f"{COMPLETED_LINK}/{NEW_FAX}", new.callback_url, refuse)


def _send(context: Context, new: NewSinchFax, number: str) -> dict[str, Any]:
    documents = tuple(
        OutgoingDocument(name=file.name, media_type=file.media_type, data=file.data) for file in new.files
    )
    fax = OutgoingFax(
        to=number,
        sender=new.sender,
        documents=documents,
        cover=new.cover if new.cover_page else None,
        header_text=new.header_text or None,
        max_retries=new.max_retries,
        retry_delay=new.retry_delay,
        labels=new.labels,
    )
    event = context.state.send(context.action, fax)
    record = context.state.find_fax(event.payload.header.id)  # type: ignore[attr-defined]
    if new.callback_url:
        context.register_callback(f"{COMPLETED_LINK}/{record.id}/{new.callback_type}", new.callback_url)
    return render_fax(context.state.config, record, new.callback_type)


def _render(context: Context, record: FaxRecord) -> dict[str, Any]:
    types = (each for each in CALLBACK_TYPES if context.callbacks.get(f"{COMPLETED_LINK}/{record.id}/{each}"))
    return render_fax(context.state.config, record, next(types, None))


@operation(tool=False)
def list_sinch_faxes(context: Context, wanted: SinchFaxFilter) -> dict[str, Any]:
    """List faxes, the newest first, in pages."""
    _check_project(context, wanted.project)
    if wanted.service:
        _check_service(context, wanted.service)
    records = list(_select(context, wanted))
    start = (wanted.page - 1) * wanted.page_size
    page = [_render(context, record) for record in islice(records, start, start + wanted.page_size)]
    return render_page("faxes", page, wanted.page, wanted.page_size, len(records))


def _select(context: Context, wanted: SinchFaxFilter) -> Iterator[FaxRecord]:
    ranges = _build_ranges(wanted)
    for record in context.state.index.list_newest_faxes(FaxFilter(direction=wanted.direction)):
        header = record.header
        if not header.to.startswith(wanted.to) or not header.sender.startswith(wanted.sender):
            continue
        if wanted.status is not None and STATUSES[record.status] != wanted.status:
            continue
        if all(range.start <= record.created_at < range.end for range in ranges):
            yield record


def _build_ranges(wanted: SinchFaxFilter) -> list[CreationRange]:
    """Return the ranges of createTime, createTime> (on or after) and createTime< (on or before)."""
    earliest, latest = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    ranges = []
    if wanted.created:
        ranges.append(parse_time_range("createTime", wanted.created))
    if wanted.created_after:
        ranges.append(CreationRange(parse_time_range("createTime>", wanted.created_after).start, latest))
    if wanted.created_before:
        ranges.append(CreationRange(earliest, parse_time_range("createTime<", wanted.created_before).end))
    return ranges


def parse_time_range(name: str, text: str) -> CreationRange:
    """Return the year, month, day or second that a text states; raise Refusal."""
    try:
        match len(text):
            case 4:
                start = datetime(int(text), 1, 1, tzinfo=UTC)
                return CreationRange(start, start.replace(year=start.year + 1))
            case 7:
                start = datetime.strptime(f"{text}-01", "%Y-%m-%d").replace(tzinfo=UTC)
                return CreationRange(start, (start + timedelta(days=31)).replace(day=1))
            case 10:
                start = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
                return CreationRange(start, start + timedelta(days=1))
        at = datetime.fromisoformat(text)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
        return CreationRange(at, at + timedelta(seconds=1))
    except (ValueError, OverflowError):
        raise refuse_argument(name, f"expected 2026, 2026-03, 2026-03-02 or a time, not {text[:40]!r}") from None


@operation(tool=False)
def fetch_sinch_fax(context: Context, fax: SinchFaxId) -> dict[str, Any]:
    """Return one fax."""
    _check_project(context, fax.project)
    return _render(context, context.state.find_fax(fax.id))


@operation(tool=False)
def download_sinch_file(context: Context, file: SinchFaxFile) -> bytes:
    """Return the pages of a fax as a PDF or TIFF file."""
    _check_project(context, file.project)
    if file.format not in ("pdf", "tif", "tiff"):
        raise Refusal(404, "unknown_format", f"there is no file.{file.format[:20]} (expected: file.pdf, file.tiff)")
    format = "pdf" if file.format == "pdf" else "tiff"
    pages = [page for _, page in context.state.read_pages(context.action, file.id, format)]
    return write_pdf(pages) if format == "pdf" else write_tiff(pages)


@operation(tool=False)
def delete_sinch_file(context: Context, fax: SinchFaxId) -> None:
    """Delete the pages of a fax. What is known of it otherwise stays."""
    _check_project(context, fax.project)
    context.state.delete_content(context.action, fax.id)


@operation(tool=False)
def list_sinch_services(context: Context, project: SinchProject) -> dict[str, Any]:
    """List the fax services of the project: there is one."""
    _check_project(context, project.project)
    return render_page("services", [_render_service(context)], 1, DEFAULT_PAGE_SIZE, 1)


@operation(tool=False)
def fetch_sinch_service(context: Context, service: SinchService) -> dict[str, Any]:
    """Return the fax service of the project."""
    _check_project(context, service.project)
    _check_service(context, service.service)
    return _render_service(context)


@operation(tool=False, logs_body=False)
def update_sinch_service(context: Context, update: SinchServiceUpdate) -> dict[str, Any]:
    """Register where the agent is called for faxes that arrive; an empty incomingWebhookUrl removes it."""
    _check_project(context, update.project)
    _check_service(context, update.service)
    if update.other_fields:
        expected = "expected: incomingWebhookUrl, webhookContentType"
        raise refuse_argument(update.other_fields[0][:40], f"cannot be changed in the sandbox ({expected})")
    url, callback_type = _find_webhook(context)
    url = url if update.url is None else update.url
    callback_type = update.callback_type or callback_type
    register_url(context, f"{INCOMING_LINK}/{callback_type}", url, partial(refuse_argument, "incomingWebhookUrl"))
    for other in CALLBACK_TYPES:
        if other != callback_type and context.callbacks.get(f"{INCOMING_LINK}/{other}"):
            context.register_callback(f"{INCOMING_LINK}/{other}", "")
    context.action.emit(FaxWebhookRegistered(registered=bool(url)))
    return render_service(context.state.config, url, callback_type)


def _find_webhook(context: Context) -> tuple[str, CallbackType]:
    """Return the URL that is called for faxes that arrive, and the type of the callback."""
    for callback_type in CALLBACK_TYPES:
        url = context.callbacks.get(f"{INCOMING_LINK}/{callback_type}")
        if url:
            return url, callback_type
    return "", "form"


def _render_service(context: Context) -> dict[str, Any]:
    return render_service(context.state.config, *_find_webhook(context))


@operation(tool=False)
def list_sinch_numbers(context: Context, service: SinchService) -> dict[str, Any]:
    """List the own numbers, which all belong to the service."""
    _check_project(context, service.project)
    _check_service(context, service.service)
    settings = context.state.config
    numbers = [
        {"phoneNumber": number, "projectId": settings.project, "serviceId": service.service}
        for number in settings.numbers
    ]
    return render_page("numbers", numbers, 1, DEFAULT_PAGE_SIZE, len(numbers))


@operation(tool=False)
def list_sinch_cover_pages(context: Context, service: SinchService) -> dict[str, Any]:
    """List the cover pages of the service: there is one, on the letterhead of the organization."""
    _check_project(context, service.project)
    _check_service(context, service.service)
    return render_page("coverPages", [_render_cover_page(service)], 1, DEFAULT_PAGE_SIZE, 1)


@operation(tool=False)
def fetch_sinch_cover_page(context: Context, page: SinchCoverPage) -> dict[str, Any]:
    """Return the cover page of the service, without a file: it is drawn for each fax."""
    _check_project(context, page.project)
    _check_service(context, page.service)
    if page.cover != COVER_PAGE:
        raise Refusal(404, "no_such_cover_page", f"there is no cover page {page.cover[:40]} (expected: {COVER_PAGE})")
    return _render_cover_page(page)


def _render_cover_page(service: SinchService) -> dict[str, Any]:
    return {"id": COVER_PAGE, "name": COVER_PAGE, "projectId": service.project, "serviceId": service.service}


def refuse_sinch_resource(context: Context, resource: SinchResource) -> None:
    """Refuse a resource of the Sinch API that is not simulated."""
    raise Refusal(501, "not_simulated", f"{resource.path[:200]} is not simulated in this way")


@operation(tool=False)
def read_sinch_event(context: Context, callback: SinchCallback) -> SinchNotification:
    """Return what the agent is told about a fax that arrived or is done."""
    record = context.state.find_fax(callback.id)
    stored = () if record.is_content_deleted else tuple(context.state.pages_of(record.id))
    return SinchNotification(
        event=callback.event,
        at=render_time(record.status_at),
        fax=_render(context, record),
        pages=tuple(page.data for page in stored),
    )


REFUSING_OPERATIONS = {
    method: Operation(refuse_sinch_resource, name=f"refuse_sinch_{method.lower()}", tool=False)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
}
"""One for each method, because an operation has one route."""
SINCH_OPERATIONS: tuple[Operation[Any, Any], ...] = (
    issue_fax_token,
    create_sinch_fax,
    list_sinch_faxes,
    fetch_sinch_fax,
    download_sinch_file,
    delete_sinch_file,
    list_sinch_services,
    fetch_sinch_service,
    update_sinch_service,
    list_sinch_numbers,
    list_sinch_cover_pages,
    fetch_sinch_cover_page,
    read_sinch_event,
    *REFUSING_OPERATIONS.values(),
)
