"""The operations of the Twilio API. They are not tools: models get the operations of the sandbox itself."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from clerkship.model.conversation_key import normalize_address
from clerkship.model.frozen import Frozen, Whole
from clerkship.sandbox.operation import Operation, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.checks import MAX_MEDIA
from clerkship.simulators.messages.events import AttachmentStored, SmsDeleted, WebhookRegistered
from clerkship.simulators.messages.outgoing import NewAttachment, OutgoingMessage
from clerkship.simulators.messages.records import MessageRecord
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.twilio.media import build_media_path, find_media, load_media, render_media
from clerkship.simulators.messages.twilio.resources import (
    PAGE_PREFIX,
    VERSION,
    PageOfList,
    build_number_sid,
    get_date_sent,
    render_account,
    render_message,
    render_number,
    render_page,
)
from clerkship.transports.outbound.event_webhook import register_url

Context = OperationContext[MessagesState]
SMS_LINK, STATUS_LINK = "sms", "status"
"""Names of callback addresses: `sms/` and an own number, `status/` and the id of a message."""
NEW_MESSAGE = "new"
"""Instead of the id, while a message is not yet sent."""
MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_SIZE = 50
DAY = timedelta(days=1)
EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_NOT_IN_QUERY = {"account", "page", "page_size", "page_token"}
"""The fields of a filter that are not part of the address of each page."""


class TwilioAccount(Frozen):
    """An account."""

    account: Annotated[str, Field(description="Account SID")]


class NewSms(TwilioAccount):
    """A text message to send."""

    to: Annotated[str, Field(alias="To")] = ""
    sender: Annotated[str, Field(alias="From")] = ""
    body: Annotated[str, Field(alias="Body")] = ""
    media_urls: Annotated[tuple[str, ...], Field(alias="MediaUrl")] = ()
    status_callback: Annotated[str, Field(alias="StatusCallback")] = ""


def _to_number(text: object) -> object:
    return int(text[:10]) if isinstance(text, str) and text.isascii() and text.isdecimal() else text


def _to_page_size(text: object) -> object:
    """Return the size of a page; one above the limit is the limit, as in Twilio."""
    size = _to_number(text)
    return min(size, MAX_PAGE_SIZE) if isinstance(size, int) else size


PageSize = Annotated[Whole, BeforeValidator(_to_page_size), Field(ge=1, le=MAX_PAGE_SIZE, alias="PageSize")]


class SmsFilter(TwilioAccount):
    """Which text messages to list, the newest first. Times are dates, or dates with a time in UTC."""

    to: Annotated[str, Field(alias="To")] = ""
    sender: Annotated[str, Field(alias="From")] = ""
    date_sent: Annotated[str, Field(alias="DateSent")] = ""
    date_sent_before: Annotated[str, Field(alias="DateSent<")] = ""
    date_sent_after: Annotated[str, Field(alias="DateSent>")] = ""
    page: Annotated[Whole, BeforeValidator(_to_number), Field(ge=0, alias="Page")] = 0
    page_size: PageSize = DEFAULT_PAGE_SIZE
    page_token: Annotated[str, Field(alias="PageToken")] = ""


class ResourceId(TwilioAccount):
    """A text message, or one of the own numbers."""

    sid: str


class MediaFilter(ResourceId):
    """Which media of a text message to list."""

    page_size: PageSize = DEFAULT_PAGE_SIZE


class MediaId(ResourceId):
    """Media of a text message."""

    media: str


class SmsUpdate(ResourceId):
    """A change of a text message."""

    body: Annotated[str | None, Field(alias="Body")] = None
    status: Annotated[str | None, Field(alias="Status")] = None


class NumberFilter(TwilioAccount):
    """Which of the own numbers to list."""

    number: Annotated[str, Field(alias="PhoneNumber")] = ""


class NumberUpdate(ResourceId):
    """Where the agent is called for text messages to a number; None does not change it."""

    sms_url: Annotated[str | None, Field(alias="SmsUrl")] = None


class TwilioResource(Frozen):
    """A resource that is not simulated."""

    path: str


class SmsCallback(Frozen):
    """A text message that the agent is called for, and for a status callback the status."""

    id: str
    status: str = ""


class SmsAnswer(Frozen):
    """A message that the agent answered a webhook with."""

    id: Annotated[str, Field(description="id of the message that it answers")]
    text: str
    to: str = ""
    sender: str = ""
    media_urls: tuple[str, ...] = ()


def _check_account(context: Context, account: str) -> str:
    """Return the Account SID; refused if it is another one."""
    own = context.state.config.account_sid
    if account != own:
        raise Refusal(404, "20404", f"there is no account {account[:40]} (expected: {own})")
    return own


def _find_sms(context: Context, sid: str, *, deleted_too: bool = False) -> MessageRecord:
    record = context.state.messages.get(sid)
    is_deleted = record is not None and record.deleted == "message" and not deleted_too
    if record is None or record.header.channel != "sms" or is_deleted:
        raise Refusal(404, "20404", f"there is no message {sid[:40]}")
    return record


@operation(tool=False, logs_body=False)
def create_sms(context: Context, new: NewSms) -> dict[str, Any]:
    """Send a text message."""
    account = _check_account(context, new.account)
    if not new.sender:
        raise Refusal(400, "21603", "a 'From' phone number is required")
    if new.status_callback:
        # Refused before the message is sent.
        _register_url(context, f"{STATUS_LINK}/{NEW_MESSAGE}", new.status_callback, "StatusCallback", "21609")
    message = OutgoingMessage(
        channel="sms",
        sender=new.sender,
        to=(new.to,) if new.to else (),
        text=new.body,
        attachments=_load_media(context, new.media_urls),
    )
    event = context.state.send(context.action, message)
    record = context.state.messages[event.payload.header.id]  # type: ignore[attr-defined]
    if new.status_callback:
        context.register_callback(f"{STATUS_LINK}/{record.id}", new.status_callback)
    return render_message(account, record)


def _load_media(context: Context, urls: tuple[str, ...]) -> tuple[NewAttachment, ...]:
    if len(urls) > MAX_MEDIA:
        raise Refusal(400, "21623", f"a text message may have at most {MAX_MEDIA} attachments, not {len(urls)}")
    mailbox, base_url = context.state.mailbox, context.base_url
    return tuple(load_media(url, number, mailbox, base_url) for number, url in enumerate(urls, 1))


def _register_url(context: Context, link: str, url: str, name: str, code: str) -> None:
    """Register a URL of the agent; one that is not valid, or that the policy forbids, is refused with a code."""
    register_url(context, link, url, lambda reason: Refusal(400, code, f"{name}: {reason}"))


@operation(tool=False)
def list_sms(context: Context, wanted: SmsFilter) -> dict[str, Any]:
    """List text messages, the newest first, in pages."""
    account = _check_account(context, wanted.account)
    records = _select_sms(context, wanted)
    if not wanted.page_token:
        records = islice(records, wanted.page * wanted.page_size, None)
    page = list(islice(records, wanted.page_size + 1))
    query: dict[str, str] = wanted.model_dump(by_alias=True, exclude=_NOT_IN_QUERY)
    place = PageOfList(
        f"/{VERSION}/Accounts/{account}/Messages.json",
        wanted.page,
        wanted.page_size,
        {name: value for name, value in query.items() if value},
        has_next=len(page) > wanted.page_size,
    )
    return render_page(place, "messages", [render_message(account, record) for record in page[: wanted.page_size]])


def _select_sms(context: Context, wanted: SmsFilter) -> Iterator[MessageRecord]:
    """Return the wanted messages after the one that the page token names, the newest first."""
    before = None
    if wanted.page_token:
        before = _find_sms(context, wanted.page_token.removeprefix(PAGE_PREFIX)).number
    to, sender = (normalize_address("sms", number) if number else "" for number in (wanted.to, wanted.sender))
    start, end = _build_date_range(wanted)
    other = next((number for number in (to, sender) if number and number not in context.state.config.numbers), None)
    for record in context.state.mailbox.list_newest_messages(before, "sms", other):
        header = record.header
        if record.deleted == "message":
            continue
        if (to and header.to[0] != to) or (sender and header.sender != sender):
            continue
        if start <= (get_date_sent(record) or record.event.at) <= end:
            yield record


def _build_date_range(wanted: SmsFilter) -> tuple[datetime, datetime]:
    """Return the first and the last time of DateSent, DateSent> (on or after) and DateSent< (on or before)."""
    exact, after, before = (
        _parse_date_range(text, name)
        for text, name in (
            (wanted.date_sent, "DateSent"),
            (wanted.date_sent_after, "DateSent>"),
            (wanted.date_sent_before, "DateSent<"),
        )
    )
    return max(exact[0], after[0]), min(exact[1], before[1])


def _parse_date_range(text: str, name: str) -> tuple[datetime, datetime]:
    """Return the second, or for a date and for midnight the day, that a text states; all times for an empty one.

    SDKs send a date as its midnight.
    """
    if not text:
        return EARLIEST, LATEST
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal(400, "20001", f"{name}: expected 2026-03-02 or 2026-03-02T09:00:00Z, not {text[:40]!r}") from None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    is_day = (at.hour, at.minute, at.second) == (0, 0, 0)
    try:
        return at, at + (DAY if is_day else timedelta(seconds=1)) - timedelta(microseconds=1)
    except OverflowError:
        return at, LATEST


@operation(tool=False)
def fetch_sms(context: Context, message: ResourceId) -> dict[str, Any]:
    """Return one text message."""
    return render_message(_check_account(context, message.account), _find_sms(context, message.sid))


@operation(tool=False)
def list_media(context: Context, wanted: MediaFilter) -> dict[str, Any]:
    """List the media of a text message; there are never more than one page of them."""
    account, record = _check_account(context, wanted.account), _find_sms(context, wanted.sid)
    media = [render_media(account, record, each) for each in record.header.attachments]
    place = PageOfList(f"/{VERSION}/Accounts/{account}/Messages/{record.id}/Media.json", 0, wanted.page_size)
    return render_page(place, "media_list", media)


@operation(tool=False)
def fetch_media(context: Context, media: MediaId) -> dict[str, Any]:
    """Return the description of media."""
    account, record = _check_account(context, media.account), _find_sms(context, media.sid)
    return render_media(account, record, find_media(record, media.media))


@operation(tool=False)
def download_media(context: Context, media: MediaId) -> AttachmentStored:
    """Return media with their content."""
    _check_account(context, media.account)
    return context.state.attachment(find_media(_find_sms(context, media.sid), media.media).id)


@operation(tool=False)
def update_sms(context: Context, update: SmsUpdate) -> dict[str, Any]:
    """Delete the text of a message, with an empty Body. Nothing else can be changed."""
    account, record = _check_account(context, update.account), _find_sms(context, update.sid)
    if update.status == "canceled" and update.body is None:
        raise Refusal(409, "30409", "this message cannot be canceled; only scheduled messages can")
    if update.body == "" and update.status is None:
        _check_complete(record)
        if not record.deleted:
            context.action.emit(SmsDeleted(id=record.id, only_text=True))
        return render_message(account, record)
    raise Refusal(400, "30400", "expected Status=canceled or an empty Body")


@operation(tool=False)
def delete_sms(context: Context, message: ResourceId) -> None:
    """Delete a text message from the Twilio API. The organization and the log keep it, so criteria still see it."""
    _check_account(context, message.account)
    record = _find_sms(context, message.sid)
    _check_complete(record)
    context.action.emit(SmsDeleted(id=record.id))


def _check_complete(record: MessageRecord) -> None:
    if record.due is not None:
        raise Refusal(409, "20009", f"message {record.id} is not complete; try again when it is delivered")


@operation(tool=False)
def fetch_account(context: Context, account: TwilioAccount) -> dict[str, Any]:
    """Return the account."""
    sid = _check_account(context, account.account)
    return render_account(sid, context.state.config.organization, context.action.now)


@operation(tool=False)
def list_numbers(context: Context, wanted: NumberFilter) -> dict[str, Any]:
    """List the own numbers, with the addresses that are called for text messages to them."""
    account, settings = _check_account(context, wanted.account), context.state.config
    number = normalize_address("sms", wanted.number) if wanted.number else ""
    numbers = [each for each in settings.numbers if number in ("", each)]
    place = PageOfList(f"/{VERSION}/Accounts/{account}/IncomingPhoneNumbers.json", 0, DEFAULT_PAGE_SIZE)
    return render_page(place, "incoming_phone_numbers", [_render_number(context, account, each) for each in numbers])


@operation(tool=False)
def fetch_number(context: Context, number: ResourceId) -> dict[str, Any]:
    """Return one of the own numbers."""
    account = _check_account(context, number.account)
    return _render_number(context, account, _find_number(context, number.sid))


@operation(tool=False, logs_body=False)
def update_number(context: Context, update: NumberUpdate) -> dict[str, Any]:
    """Register where the agent is called for text messages to a number; an empty SmsUrl removes it."""
    account, number = _check_account(context, update.account), _find_number(context, update.sid)
    url = update.sms_url
    if url is not None:
        _register_url(context, f"{SMS_LINK}/{number}", url, "SmsUrl", "21402")
        context.action.emit(WebhookRegistered(number=number, registered=bool(url)))
        return render_number(account, number, url, context.action.now)
    return _render_number(context, account, number)


def _find_number(context: Context, sid: str) -> str:
    for number in context.state.config.numbers:
        if build_number_sid(number) == sid:
            return number
    raise Refusal(404, "20404", f"there is no phone number {sid[:40]}")


def _render_number(context: Context, account: str, number: str) -> dict[str, Any]:
    url = context.callbacks.get(f"{SMS_LINK}/{number}", context.state.config.webhook) or ""
    return render_number(account, number, url, context.action.now)


def refuse_resource(context: Context, resource: TwilioResource) -> None:
    """Refuse a resource of Twilio that is not simulated."""
    raise Refusal(404, "20404", f"the resource {resource.path[:200]} was not found; it is not simulated")


@operation(tool=False)
def read_sms_webhook(context: Context, call: SmsCallback) -> dict[str, str]:
    """Return the parameters of the webhook of a text message that arrived. URLs of media are below its sandbox."""
    record, media = _find_sms(context, call.id, deleted_too=True), {}
    for place, each in enumerate(record.header.attachments):
        media[f"MediaContentType{place}"] = each.content_type
        media[f"MediaUrl{place}"] = build_media_path(context.state.config.account_sid, record, each.id)
    return _build_parameters(
        context,
        record,
        **media,
        Body=record.payload.text,
        NumMedia=str(len(record.header.attachments)),
        NumSegments=str(record.payload.segments or 1),
        SmsMessageSid=record.id,
        SmsStatus="received",
    )


@operation(tool=False)
def read_sms_status(context: Context, call: SmsCallback) -> dict[str, str]:
    """Return the parameters of the status callback of a text message."""
    record = _find_sms(context, call.id, deleted_too=True)
    is_failure = call.status in ("undelivered", "failed")
    code = {"ErrorCode": record.error_code} if is_failure and record.error_code else {}
    return _build_parameters(context, record, MessageStatus=call.status, SmsStatus=call.status) | code


def _build_parameters(context: Context, record: MessageRecord, **more: str) -> dict[str, str]:
    """Return the parameters that all calls of the agent have, and more, sorted by name."""
    shared = {
        "AccountSid": context.state.config.account_sid,
        "ApiVersion": VERSION,
        "From": record.header.sender,
        "MessageSid": record.id,
        "SmsSid": record.id,
        "To": record.header.to[0],
    }
    return dict(sorted({**shared, **more}.items()))


@operation(tool=False)
def answer_sms_webhook(context: Context, answer: SmsAnswer) -> str:
    """Send a message that the agent answered a webhook with; return its id."""
    header = _find_sms(context, answer.id, deleted_too=True).header
    sender, to = answer.sender or header.to[0], answer.to or header.sender
    is_reply = normalize_address("sms", to) == header.sender
    message = OutgoingMessage(
        channel="sms",
        sender=sender,
        to=(to,),
        text=answer.text,
        in_reply_to=answer.id if is_reply else None,
        attachments=_load_media(context, answer.media_urls),
    )
    sent: str = context.state.send(context.action, message).payload.header.id  # type: ignore[attr-defined]
    return sent


REFUSED_VERSIONS = (VERSION, "v1", "v2")
"""The beginnings of paths of Twilio's APIs; all their other resources are refused."""
REFUSING_OPERATIONS = {
    (method, version): Operation(refuse_resource, name=f"refuse_{method.lower()}_{version}", tool=False)
    for version in REFUSED_VERSIONS
    for method in ("GET", "POST", "DELETE")
}
"""One for each method and version, because an operation has one route."""
TWILIO_OPERATIONS: tuple[Operation[Any, Any], ...] = (
    *(create_sms, list_sms, fetch_sms, update_sms, delete_sms),
    *(list_media, fetch_media, download_media),
    *(fetch_account, list_numbers, fetch_number, update_number),
    *(read_sms_webhook, read_sms_status, answer_sms_webhook),
    *REFUSING_OPERATIONS.values(),
)
