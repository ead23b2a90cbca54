"""Read e-mail from bytes of RFC 5322 and MIME, within limits.

The parts of a message are split here and not by the `email` package, whose time grows with the product of nesting depth
and number of lines. Headers and their parameters are read by that package.
"""

import binascii
import re
from collections.abc import Iterator
from email.message import Message
from email.utils import getaddresses
from itertools import count
from typing import Any

from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.email.text import decode_text, decode_words, html_to_text
from clerkship.simulators.messages.outgoing import BINARY_TYPE, NewAttachment

MAX_DEPTH = 10
"""Multiparts within multiparts."""
MAX_PARTS = 100
MAX_HEADER_BYTES = 65_536
"""All headers of a message or a part."""
MAX_COMMENTS = 50
"""Parentheses in a header with addresses; they may be nested."""
SINGLE_FIELDS = ("from", "sender", "reply-to", "to", "cc", "bcc", "message-id", "in-reply-to", "references", "subject")
"""Headers of which a message has one at most (RFC 5322 §3.6): of two, programs would show different ones."""
_ID_FIELDS = ("message-id", "in-reply-to", "references")
_FIELD_NAME = re.compile(r"[!-9;-~]+")
_FOLD = re.compile(r"\r\n(?=[ \t])")
_NOT_IN_VALUES = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
_EMPTY_GROUP = re.compile(r"[^:;@<>]*:\s*;\s*")
"""A group without members, such as `undisclosed-recipients:;` (RFC 5322 §3.4)."""
_MESSAGE_ID = re.compile(r"<[^\s<>]{1,990}>")
_ENCODINGS = ("", "7bit", "8bit", "binary", "base64", "quoted-printable")


class InvalidEmail(Refusal):
    """Content that is not a valid e-mail, or exceeds a limit."""

    def __init__(self, reason: str) -> None:
        super().__init__(400, "554", f"5.6.0 {reason}")


class Email(Frozen):
    """The content of an e-mail: its headers, its text, and the files in it."""

    sender: str = ""
    """The address in From; empty if there is no such header."""
    other_senders: tuple[str, ...] = ()
    """The addresses in Sender and Reply-To."""
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    subject: str | None = None
    text: str = ""
    html: str | None = None
    attachments: tuple[NewAttachment, ...] = ()
    message_id: str | None = None
    references: tuple[str, ...] = ()
    """The Message-IDs of In-Reply-To and References, newest first."""


def parse_email(data: bytes, *, allow_utf8_headers: bool = False) -> Email:
    """Read an e-mail with CRLF line ends; raises InvalidEmail. UTF-8 in headers needs SMTPUTF8 (RFC 6532)."""
    head, body = _split_head(data)
    headers = _parse_headers(head, allow_utf8=allow_utf8_headers)
    for name in SINGLE_FIELDS:
        if len(headers.get_all(name, ())) > 1:
            raise InvalidEmail(f"there is more than one {name.title()} header")
    senders = _read_addresses(headers, "from")
    if len(senders) > 1:
        raise InvalidEmail(f"From has {len(senders)} addresses; one is expected")
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    attachments: list[NewAttachment] = []
    for part, content in _list_leaves(headers, body, count(1)):
        decoded, kind, name = _decode_body(part, content), part.get_content_type(), _read_file_name(part)
        if kind in texts and part.get_content_disposition() != "attachment" and not name:
            charset = part.get_param("charset")
            text = decode_text(decoded, charset if isinstance(charset, str) else None)
            texts[kind].append(text.replace("\r\n", "\n").removesuffix("\n"))
            continue
        name = name or f"attachment-{len(attachments) + 1}"
        kind = BINARY_TYPE if part.get_content_maintype() == "multipart" else kind
        attachments.append(NewAttachment(name=name, content_type=kind, data=decoded))
    html = "\n".join(texts["text/html"]) if texts["text/html"] else None
    message_ids = {name: _MESSAGE_ID.findall(headers.get(name, "")) for name in _ID_FIELDS}
    newest_first = dict.fromkeys((*message_ids["in-reply-to"], *reversed(message_ids["references"])))
    return Email(
        sender=senders[0] if senders else "",
        other_senders=(*_read_addresses(headers, "sender"), *_read_addresses(headers, "reply-to")),
        to=_read_addresses(headers, "to"),
        cc=_read_addresses(headers, "cc"),
        subject=decode_words(headers["subject"].replace("\t", " ").strip()) if "subject" in headers else None,
        text="\n".join(texts["text/plain"]) if texts["text/plain"] else html_to_text(html or ""),
        html=html,
        attachments=tuple(attachments),
        message_id=next(iter(message_ids["message-id"]), None),
        references=tuple(newest_first),
    )


def _split_head(data: bytes) -> tuple[bytes, bytes]:
    """Return the headers and the body. A message may begin with its body, after an empty line."""
    if data.startswith(b"\r\n"):
        return b"", data[2:]
    end = data.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES + 4)
    if end < 0 and len(data) > MAX_HEADER_BYTES:
        raise InvalidEmail(f"the headers are longer than {MAX_HEADER_BYTES} bytes")
    return (data, b"") if end < 0 else (data[:end], data[end + 4 :])


def _parse_headers(head: bytes, *, allow_utf8: bool) -> "Message[str, str]":
    """Parse headers; each line must be a header or the continuation of one."""
    try:
        text = head.decode("utf-8" if allow_utf8 else "ascii")
    except UnicodeDecodeError:
        raise InvalidEmail("a header has 8-bit characters that are not announced, or not UTF-8") from None
    message: Message[str, str] = Message()
    for line in _FOLD.sub("", text.removesuffix("\r\n")).split("\r\n") if text.strip("\r\n") else ():
        name, colon, value = line.partition(":")
        name = name.rstrip(" \t")
        if not colon or not _FIELD_NAME.fullmatch(name):
            raise InvalidEmail("the headers have a line that is not a header")
        if _NOT_IN_VALUES.search(value):
            raise InvalidEmail(f"the header {name[:40]} has a line break or control character")
        message[name] = value.strip(" \t")
    return message


def _read_addresses(headers: "Message[str, str]", name: str) -> tuple[str, ...]:
    """Return the addresses of a header without display names, each once."""
    value = str(headers.get(name, ""))
    if not value.strip():
        return ()
    if value.count("(") > MAX_COMMENTS:
        raise InvalidEmail(f"{name.title()} has more than {MAX_COMMENTS} comments")
    addresses = [address for _, address in getaddresses([value]) if address]
    if any("@" not in address for address in addresses) or (not addresses and not _EMPTY_GROUP.fullmatch(value)):
        raise InvalidEmail(f"{name.title()} is not a list of e-mail addresses")
    return tuple(dict.fromkeys(addresses))


def _list_leaves(
    headers: "Message[str, str]", body: bytes, numbers: Iterator[int], depth: int = 0
) -> Iterator[tuple["Message[str, str]", bytes]]:
    """Yield the headers and the body of each part that has no parts in it."""
    if next(numbers) > MAX_PARTS:
        raise InvalidEmail(f"there are more than {MAX_PARTS} parts")
    boundary = headers.get_boundary() if headers.get_content_maintype() == "multipart" else None
    if not boundary:
        yield headers, body
        return
    if depth >= MAX_DEPTH:
        raise InvalidEmail(f"parts are nested deeper than {MAX_DEPTH}")
    separator = re.escape(boundary.encode("utf-8", "surrogateescape"))
    # A boundary line with the line break before it (RFC 2046 §5.1.1); the last one may be missing.
    pieces = re.split(rb"\r\n--" + separator + rb"(--)?[ \t]*(?=\r\n|\Z)", b"\r\n" + body)
    for is_end, part in zip(pieces[1::2], pieces[2::2], strict=True):
        if is_end:
            return
        head, content = _split_head(part[2:])
        yield from _list_leaves(_parse_headers(head, allow_utf8=True), content, numbers, depth + 1)


def _decode_body(headers: "Message[str, str]", body: bytes) -> bytes:
    encoding = str(headers.get("content-transfer-encoding", "")).split(";")[0].strip().lower()
    if encoding not in _ENCODINGS:
        raise InvalidEmail(f"the content transfer encoding {encoding[:40]!r} is not supported")
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    if encoding != "base64":
        return body
    try:
        return binascii.a2b_base64(body)
    except binascii.Error:
        raise InvalidEmail("a part is not valid base64") from None


def _read_file_name(headers: "Message[str, str]") -> str:
    """Return the name of a part's file, without folders; empty if it has none."""
    missing = object()
    value: Any = headers.get_param("filename", missing, "content-disposition")
    value = headers.get_param("name", "") if value is missing else value
    if isinstance(value, tuple):  # with a character set and percent-encoded (RFC 2231)
        name = decode_text(value[2].encode("raw-unicode-escape"), value[0] or None)
    else:
        name = decode_words(str(value))
    return name.replace("\\", "/").rpartition("/")[2].strip()
