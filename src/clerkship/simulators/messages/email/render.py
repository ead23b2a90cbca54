"""Write e-mail as bytes of RFC 5322 and MIME. The same e-mail gives the same bytes."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from email.header import Header
from email.utils import format_datetime
from urllib.parse import quote

from clerkship.simulators.messages.email.mime import Email
from clerkship.simulators.messages.outgoing import NewAttachment

CRLF = b"\r\n"
MAX_PARAMETER_LENGTH = 60
"""Characters of a parameter in one line; longer ones continue in the next (RFC 2231 §3)."""
MAX_SIMPLE_LENGTH = 60
_SIMPLE = re.compile(r"[A-Za-z0-9,.:;!'()/+_#&*%@$-]+(?: [A-Za-z0-9,.:;!?'()/+_#&*%@$-]+)*")
_SIMPLE_NAME = re.compile(r"[A-Za-z0-9_-]+(?:[. ][A-Za-z0-9_-]+)*")
_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+")


def render_email(email: Email, date: datetime | None = None) -> bytes:
    """Write an e-mail. Recipients that are not in To or Cc are not written."""
    headers = [*_list_headers(email, date), b"MIME-Version: 1.0"]
    return CRLF.join(headers) + CRLF + _render_body(email)


def _list_headers(email: Email, date: datetime | None) -> Iterator[bytes]:
    addresses = (("From", (email.sender,) if email.sender else ()), ("To", email.to), ("Cc", email.cc))
    for name, listed in addresses:
        if listed:
            yield _render_list(name, listed, ",")
    if email.subject is not None:
        yield b"Subject: " + _encode_words(email.subject)
    if date is not None:
        yield f"Date: {format_datetime(date)}".encode()
    if email.message_id:
        yield f"Message-ID: {email.message_id}".encode()
    if email.references:
        yield f"In-Reply-To: {email.references[0]}".encode()
        yield _render_list("References", tuple(reversed(email.references)), "")


def _render_list(name: str, values: Iterable[str], separator: str) -> bytes:
    """Write a header with one value in each line."""
    return f"{name}: ".encode() + f"{separator}\r\n ".join(values).encode()


def _encode_words(text: str) -> bytes:
    is_simple = _SIMPLE.fullmatch(text) and len(text) <= MAX_SIMPLE_LENGTH
    return (text if is_simple else Header(text, "utf-8").encode(linesep="\r\n")).encode()


def _render_body(email: Email) -> bytes:
    """Write the texts as alternatives, with the attachments after them."""
    text = _render_text(email.text, "plain")
    if email.html is not None:
        text = _render_multipart("alternative", [text, _render_text(email.html, "html")])
    if not email.attachments:
        return text
    return _render_multipart("mixed", [text, *map(_render_attachment, email.attachments)])


def _render_text(text: str, subtype: str) -> bytes:
    """Write text as quoted-printable with a final line break, which is not part of it."""
    lines = text.split("\n")
    encoded = CRLF.join(binascii.b2a_qp(line.encode(), istext=False).replace(b"\n", CRLF) for line in lines)
    head = f"Content-Type: text/{subtype}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    return head.encode() + encoded + CRLF


def _render_attachment(attachment: NewAttachment) -> bytes:
    kind = attachment.content_type.lower() if _TYPE.fullmatch(attachment.content_type) else "application/octet-stream"
    head = (
        f"Content-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: attachment;\r\n {_render_name(attachment.name)}\r\n\r\n"
    )
    return head.encode() + base64.encodebytes(attachment.data).replace(b"\n", CRLF)


def _render_name(name: str) -> str:
    """Write the file name, and one that is not simple percent-encoded (RFC 2231)."""
    if _SIMPLE_NAME.fullmatch(name) and len(name) <= MAX_PARAMETER_LENGTH:
        return f'filename="{name}"'
    pieces = ["utf-8''"]
    for character in name:
        encoded = quote(character, safe="")
        if len(pieces[-1]) + len(encoded) > MAX_PARAMETER_LENGTH:
            pieces.append("")
        pieces[-1] += encoded
    return ";\r\n ".join(f"filename*{place}*={piece}" for place, piece in enumerate(pieces))


def _render_multipart(subtype: str, parts: Sequence[bytes]) -> bytes:
    """Join parts. The boundary contains `=_`, which occurs in neither base64 nor quoted-printable."""
    digest = hashlib.blake2b(b"\0".join(parts), digest_size=12).hexdigest()
    boundary = f"=_{digest}"
    separator = f"--{boundary}".encode()
    joined = b"".join(separator + CRLF + part + CRLF for part in parts)
    head = f'Content-Type: multipart/{subtype}; boundary="{boundary}"\r\n\r\n'.encode()
    return head + joined + separator + b"--" + CRLF
