"""Parse a new fax of the Sinch API: JSON with files in base64, or a form with files."""

import base64
import binascii
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from clerkship.kit.depth import is_deeper_than
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal, Request
from clerkship.sandbox.route import describe_first_error
from clerkship.simulators.fax.outgoing import DEFAULT_RETRIES, DEFAULT_RETRY_DELAY, FaxCover
from clerkship.simulators.fax.sinch.resources import FORM, JSON, MEDIA_TYPES, CallbackType
from clerkship.transports.multipart import FormPart, parse_form

MAX_RECIPIENTS = 10
"""Numbers that one request may send to. Each gets a fax of its own, whose documents are converted again."""
_TEXT_FIELDS = {
    "from": "sender",
    "headerText": "header_text",
    "callbackUrl": "callback_url",
    "resolution": "resolution",
    "serviceId": "service",
    "coverPageId": "cover_page",
}
"""Text parameter -> field of NewSinchFax."""
SIMULATED_PARAMETERS = (
    *("to", "from", "files", "file", "headerText", "maxRetries", "retryDelaySeconds", "labels", "resolution"),
    *("callbackUrl", "callbackUrlContentType", "serviceId", "coverPageId", "coverPageData"),
)
"""Parameters of a new fax that have an effect."""
IGNORED_PARAMETERS = ("headerPageNumbers", "headerTimeZone", "imageConversionMethod")
"""Parameters of a new fax that are accepted and have no effect. The header line always has the page numbers and the
time in UTC."""
REFUSED_REQUESTS = {
    "`contentUrl` of a new fax": "the sandbox fetches no URLs; send the file (`url_not_fetched`)",
    "other cover pages than `cover_sheet`; POST and DELETE of cover pages": "a service has one cover page",
    "`resolution` SUPERFINE": "not simulated (expected: FINE)",
    "documents of types DOCX and HTML": "not converted; save them as PDF and send that (`unknown_format`)",
    "a document that cannot be converted": "refused at once; in Sinch's API such a fax fails later",
    "POST and DELETE of services; `PATCH` of other fields than the webhook": "a project has one service",
    "fax to email (`/emails`), any other path below `/v3/`": "not simulated",
}
"""Requests that are refused by name, with the reason."""
FILE_TYPES = {
    "PDF": "application/pdf",
    "TIF": "image/tiff",
    "TIFF": "image/tiff",
    "PNG": "image/png",
    "JPG": "image/jpeg",
    "JPEG": "image/jpeg",
    "TXT": "text/plain",
}
"""`fileType` of a document -> its media type. What a document is follows from its content."""
REFUSED_FILE_TYPES = ("DOCX", "DOC", "HTML")


class SinchFile(Frozen):
    """A file of a new fax."""

    name: str
    media_type: str = ""
    data: bytes


class NewSinchFax(Frozen):
    """A fax to send."""

    project: str
    to: tuple[str, ...]
    sender: str = ""
    files: tuple[SinchFile, ...] = ()
    content_url: tuple[str, ...] = ()
    header_text: str = ""
    max_retries: int = DEFAULT_RETRIES
    retry_delay: float = DEFAULT_RETRY_DELAY
    labels: dict[str, str] = {}
    callback_url: str = ""
    callback_type: CallbackType = "form"
    resolution: str = ""
    service: str = ""
    cover_page: str = ""
    cover: FaxCover = FaxCover()


def refuse_argument(name: str, reason: str) -> Refusal:
    """Return the refusal of a parameter that is not valid."""
    return Refusal(400, "invalid_argument", f"{name}: {reason}")


def parse_new_fax(project: str, request: Request) -> NewSinchFax:
    """Parse a fax to send, from JSON or a form; raise Refusal."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == FORM:
        values, files = _read_form(parse_form(request))
    elif media == JSON:
        values = parse_object(request.body)
        files = _read_files(values.get("files"))
    else:
        raise Refusal(415, "unsupported_media_type", f"the body is {media[:60] or 'of no type'} ({JSON} or {FORM})")
    try:
        return NewSinchFax(project=project, files=files, **_read_values(values))
    except ValidationError as error:
        raise Refusal(400, "invalid_argument", describe_first_error(error)) from None


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object; raise Refusal."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refusal(400, "not_json", "the body is not JSON") from None
    if not isinstance(data, dict) or is_deeper_than(data):
        raise Refusal(400, "invalid_argument", "the body must be a JSON object without deep nesting")
    return data


def _read_values(values: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = {
        "to": _read_numbers(values.get("to")),
        "content_url": _read_texts("contentUrl", values.get("contentUrl")),
        "callback_type": parse_callback_type("callbackUrlContentType", values.get("callbackUrlContentType")),
        "labels": _read_labels(values.get("labels")),
        "cover": _read_cover(values.get("coverPageData")),
    }
    for name, field in _TEXT_FIELDS.items():
        if values.get(name) is not None:
            read[field] = _read_text(name, values[name])
    for name, field in {"maxRetries": "max_retries", "retryDelaySeconds": "retry_delay"}.items():
        if values.get(name) is not None:
            read[field] = _read_whole(name, values[name])
    return read


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise refuse_argument(name, "expected a text")
    return value


def _read_texts(name: str, value: Any) -> tuple[str, ...]:
    """Return one text or a list of texts; forms may separate URLs by commas."""
    if value is None or value == "":
        return ()
    texts = value if isinstance(value, list) else [value]
    return tuple(_read_text(name, text) for text in texts)


def _read_numbers(value: Any) -> tuple[str, ...]:
    """Return the numbers to send to: one, a list, or several in one text, separated by semicolons."""
    numbers = [part.strip() for text in _read_texts("to", value) for part in text.split(";")]
    numbers = list(dict.fromkeys(filter(None, numbers)))
    if not numbers:
        raise refuse_argument("to", "expected a fax number, such as +15550100123")
    if len(numbers) > MAX_RECIPIENTS:
        raise refuse_argument("to", f"{len(numbers)} numbers (expected: at most {MAX_RECIPIENTS})")
    return tuple(numbers)


def _read_whole(name: str, value: Any) -> int:
    """Return a whole number; in a form it is a text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse_argument(name, "expected a whole number")
    return value


def _read_labels(value: Any) -> dict[str, str]:
    if value is None or value == "":
        return {}
    labels = parse_object(value.encode()) if isinstance(value, str) else value
    if not isinstance(labels, dict) or not all(isinstance(label, str) for label in labels.values()):
        raise refuse_argument("labels", 'expected an object with texts, such as {"case": "17"}')
    return labels


def _read_cover(value: Any) -> FaxCover:
    """Return what the cover page says; in a form it is a JSON text."""
    fields = parse_object(value.encode()) if isinstance(value, str) and value else value or {}
    try:
        return FaxCover.model_validate(fields)
    except ValidationError as error:
        raise refuse_argument("coverPageData", describe_first_error(error)) from None


def parse_callback_type(name: str, value: Any) -> CallbackType:
    """Return the type of a callback from its media type; a form by default."""
    if value is None or value == "":
        return "form"
    for callback_type, media in MEDIA_TYPES.items():
        if value == media:
            return callback_type
    raise refuse_argument(name, f"expected {FORM} or {JSON}")


def _read_files(value: Any) -> tuple[SinchFile, ...]:
    """Return the files of a JSON body, decoded."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise refuse_argument("files", "expected a list of objects with `file` and `fileType`")
    return tuple(_read_file(f"files[{place}]", place, each) for place, each in enumerate(value))


def _read_file(name: str, place: int, value: Any) -> SinchFile:
    if not isinstance(value, dict):
        raise refuse_argument(name, "expected an object with `file` (base64) and `fileType`")
    file_type = _read_text(f"{name}.fileType", value.get("fileType", "")).upper()
    if file_type in REFUSED_FILE_TYPES:
        raise Refusal(415, "unknown_format", f"{name}: {file_type} is not converted; save it as PDF and send that")
    if file_type and file_type not in FILE_TYPES:
        raise refuse_argument(f"{name}.fileType", "expected PDF, TIF, PNG, JPG or TXT")
    try:
        data = base64.b64decode(_read_text(f"{name}.file", value.get("file")), validate=True)
    except (binascii.Error, ValueError):
        raise refuse_argument(f"{name}.file", "expected the file in base64") from None
    suffix = f".{file_type.lower()}" if file_type else ""
    return SinchFile(name=f"file{place + 1}{suffix}", media_type=FILE_TYPES.get(file_type, ""), data=data)


def _read_form(parts: Sequence[FormPart]) -> tuple[dict[str, Any], tuple[SinchFile, ...]]:
    """Return the parameters and the files of a form. A parameter that is given more than once is a list."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    files: list[SinchFile] = []
    for part in parts:
        if part.filename is not None:
            name = part.filename[:255] or f"file{len(files) + 1}"
            files.append(SinchFile(name=name, media_type=part.media, data=part.data))
        else:
            texts[part.name].append(part.text)
    values: dict[str, Any] = {name: each if name in ("to", "contentUrl") else each[-1] for name, each in texts.items()}
    return values, tuple(files)
