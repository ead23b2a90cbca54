"""Reading and writing e-mail as bytes of RFC 5322 and MIME."""

from contextlib import suppress
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.simulators.messages.email.mime import (
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    MAX_PARTS,
    Email,
    InvalidEmail,
    parse_email,
)
from clerkship.simulators.messages.email.render import render_email
from clerkship.simulators.messages.email.text import html_to_text
from clerkship.simulators.messages.outgoing import NewAttachment
from tests.choices import mark_slow_after
from tests.examples import examples
from tests.waiting import processor_limit

HEADER_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=300)
BODY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=400)
ADDRESSES = st.lists(
    st.from_regex(r"[a-z0-9]{1,20}@[a-z]{1,10}\.example", fullmatch=True), max_size=5, unique=True
).map(tuple)
MESSAGE_ID = st.from_regex(r"<[a-z0-9.]{1,30}@[a-z]{1,9}\.example>", fullmatch=True)
FILE_NAME = HEADER_TEXT.filter(lambda name: name.strip() == name and not set(name) & set("/\\") and len(name) < 200)
ATTACHMENT = st.builds(
    NewAttachment,
    name=FILE_NAME,
    content_type=st.sampled_from(["application/pdf", "image/png", "text/plain", "message/rfc822"]),
    data=st.binary(max_size=500),
)
EMAIL = st.builds(
    Email,
    sender=st.from_regex(r"[a-z0-9]{1,20}@[a-z]{1,10}\.example", fullmatch=True),
    to=ADDRESSES,
    cc=ADDRESSES,
    subject=st.none() | HEADER_TEXT,
    text=BODY_TEXT,
    html=st.none() | BODY_TEXT,
    attachments=st.lists(ATTACHMENT, max_size=3).map(tuple),
    message_id=st.none() | MESSAGE_ID,
    references=st.lists(MESSAGE_ID, max_size=4, unique=True).map(tuple),
)


@given(EMAIL)
@settings(deadline=None)
def test_rendered_email_parses_to_the_same_email(email: Email) -> None:
    assert parse_email(render_email(email, datetime(2026, 3, 1, 9, tzinfo=UTC))) == email


@given(EMAIL)
@settings(deadline=None, max_examples=examples(30))
def test_rendered_email_is_read_alike_by_the_standard_library(email: Email) -> None:
    message = message_from_bytes(render_email(email), policy=policy.default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    assert message["from"].addresses[0].addr_spec == email.sender
    files = [part.get_payload(decode=True) for part in message.walk() if part.get_filename()]
    if not any(attachment.content_type == "message/rfc822" for attachment in email.attachments):
        assert files == [attachment.data for attachment in email.attachments]


@given(
    st.binary(max_size=2000)
    | st.lists(
        st.sampled_from(
            [
                b"From: a@b.example",
                b"Content-Type: multipart/mixed; boundary=x",
                b"--x",
                b"--x--",
                b"",
                b"\r\n",
                b"\x80",
                b"Content-Transfer-Encoding: base64",
                b"Subject: =?utf-8?b?a?=",
                b"To: (((,<>,@:;",
                b"A" * 99,
                b" folded",
                b"Content-Type: text/plain; charset=punycode",
                b"Content-Disposition: attachment; filename*=x''%ff",
                b"=?=",
                b"Subject: =?idna?q?=ff?=",
                b"Content-Type: multipart/mixed; boundary*0*=x''y; boundary*9=z",
                b"To: a@[b",
            ]
        ).map(lambda line: line + b"\r\n")
    ).map(b"".join)
)
@settings(deadline=None, max_examples=examples(400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for allowed in (False, True):
        with suppress(InvalidEmail):
            parse_email(data, allow_utf8_headers=allowed)


def test_same_email_gives_same_bytes() -> None:
    email = Email(sender="a@b.example", html="<p>é</p>", attachments=(NewAttachment(name="a.pdf", data=b"x"),))
    assert render_email(email) == render_email(email)


def test_message_of_the_standard_library_is_read() -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Cc"] = "Front Desk <a@b.example>", "Zoë <z@c.example>", "d@e.example"
    message["Subject"] = "Ihr Termin für Dienstag " * 8
    message["In-Reply-To"], message["References"] = "<2@x.example>", "<1@x.example> <2@x.example>"
    message.set_content("Grüße\n")
    message.add_alternative("<p>Grüße</p>\n", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Übersicht März.pdf")
    email = parse_email(message.as_bytes(policy=policy.SMTP))
    assert (email.sender, email.to, email.cc) == ("a@b.example", ("z@c.example",), ("d@e.example",))
    assert email.subject == ("Ihr Termin für Dienstag " * 8).strip()
    assert (email.text, email.html) == ("Grüße", "<p>Grüße</p>")
    assert [(file.name, file.content_type, file.data) for file in email.attachments] == [
        ("Übersicht März.pdf", "application/pdf", b"%PDF")
    ]
    assert email.references == ("<2@x.example>", "<1@x.example>")


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("iso-8859-1", b"caf\xe9", "café"),
        ("utf-8", b"caf\xe9", "caf\ufffd"),
        ("no-such-charset", "café".encode(), "café"),
        ("us-ascii", "café".encode(), "café"),
        ("punycode", b"caf-dma", "caf-dma"),
        ("zlib", b"caf", "caf"),
        ("shift_jis", "予約".encode("shift_jis"), "予約"),
    ],
)
def test_text_is_decoded_by_its_charset(charset: str, data: bytes, text: str) -> None:
    head = f"Content-Type: text/plain; charset={charset}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    assert parse_email(head.encode() + data + b"\r\n").text == text


def test_html_without_text_is_read_as_text() -> None:
    data = b"Content-Type: text/html\r\n\r\n<style>p{}</style><p>Dear&nbsp;Ana,</p>\r\n<p>9 &lt; 10</p>\r\n"
    assert parse_email(data).text == "Dear Ana,\n\n9 < 10"


@pytest.mark.parametrize(
    "head",
    [
        b"From: a@b.example\r\nFrom: c@d.example\r\n\r\n",
        b"From: a@b.example, c@d.example\r\n\r\n",
        b"Subject: one\r\nSubject: two\r\n\r\n",
        b"To: " + b"(" * 60 + b"\r\n\r\n",
        b"To: Ana\r\n\r\n",
        b"no header\r\n\r\n",
        b"Subject: caf\xe9\r\n\r\n",
        b"Subject: a\x00b\r\n\r\n",
        b"Subject: a\nBcc: c@d.example\r\n\r\n",
        b"X: " + b"y" * MAX_HEADER_BYTES,
        b"Content-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 a\r\n",
        b"Content-Transfer-Encoding: base64\r\n\r\nabcde",
    ],
)
def test_invalid_email_is_refused(head: bytes) -> None:
    with pytest.raises(InvalidEmail):
        parse_email(head)


def nest(depth: int) -> bytes:
    """Return multiparts within multiparts, with many short lines."""
    lines = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(depth))
    return lines + b"\r\nx\r\n" * 10_000


def test_nesting_and_number_of_parts_are_limited() -> None:
    assert parse_email(nest(MAX_DEPTH)).text.startswith("x")
    for data in (nest(MAX_DEPTH + 1), nest(20_000)):
        with processor_limit(5), pytest.raises(InvalidEmail, match="nested deeper"):
            parse_email(data)
    many = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 200_000
    with pytest.raises(InvalidEmail, match=f"more than {MAX_PARTS} parts"):
        parse_email(many)


@pytest.mark.parametrize(
    ("head", "part", "count"),
    mark_slow_after(
        3,
        [
            (b"Subject: ", b"=?a?q?", 1300),
            (b"To: ", b'"', 60_000),
            (b"To: ", b"<", 60_000),
            (b"To: ", b"a@b.example,", 5_000),
            (b"References: ", b"<", 60_000),
            (b"Content-Type: text/plain", b';a="', 1900),
            (b"Content-Type: text/html\r\n\r\n", b"<a", 2_000_000),
            (b"Content-Type: text/html\r\n\r\n", b"<script>", 500_000),
            (b"Content-Transfer-Encoding: quoted-printable\r\n\r\n", b"=", 5_000_000),
            (b"Content-Type: multipart/mixed; boundary=b\r\n\r\n", b"\r\n--", 1_000_000),
        ],
    ),
    ids=range(10),
)
def test_hostile_email_is_read_in_bounded_time(head: bytes, part: bytes, count: int) -> None:
    end = b"" if head.endswith(b"\n") else b"\r\n\r\n"
    with processor_limit(5), suppress(InvalidEmail):
        parse_email(head + part * count + end)


def test_character_reference_with_thousands_of_digits_is_read() -> None:
    assert html_to_text(f"a&#{'9' * 5000};b") == "a\ufffdb"


def test_html_to_text_keeps_lines_and_entities() -> None:
    assert html_to_text("<ul><li>one</li><li>two &amp; three</li></ul>a < b") == "one\n\ntwo & three\n\na < b"
