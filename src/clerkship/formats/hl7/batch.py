"""Several messages in one text: in sequence, or in batches and files with headers and trailers (§2.10.3)."""

import re
from dataclasses import dataclass, field

from clerkship.formats.hl7.charset import detect_wide_codec
from clerkship.formats.hl7.message import (
    MAX_SHOWN_LENGTH,
    BadMessage,
    Flaw,
    Segment,
    decode_message,
    parse_delimiters,
    parse_segment,
)

_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_PADDING = "\x00\x0b\x1c"
"""Characters around a segment without meaning: the framing bytes of MLLP, and block padding."""
_LEADING_PADDING = f"{_PADDING} \t\ufeff"
"""Characters before a segment without meaning. After it, spaces belong to its last field."""
_BYTE_ORDER_MARK_AS_LATIN = b"\xef\xbb\xbf".decode("latin-1")
_NOT_IN_SINGLE_MESSAGE = (
    *("\n", "\r\r", "\r ", " \r", "\r\t", "\t\r", "\x00", "\x0b", "\x1c", "\x1b", "\ufeff"),
    *("\rMSH", "\rFHS", "\rBHS", "\rBTS", "\rFTS"),
)
"""Texts that a single message in normal form does not contain. An escape character switches the charset (ISO 2022)."""
_HEADERS = ("FHS", "BHS")
_TRAILERS = ("BTS", "FTS")
MAX_BATCH_FLAWS = 20


@dataclass
class MessageBatch:
    """The messages of a text in order; each segment ends with a carriage return."""

    messages: list[str] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)
    """Errors outside the messages: counts, headers, trailers, stray text."""
    control_ids: list[str] = field(default_factory=list)
    """FHS-11 and BHS-11, in order; empty if a header has none."""
    headers: list[Segment] = field(default_factory=list)
    trailers: list[Segment] = field(default_factory=list)


def split_messages(data: bytes | str) -> MessageBatch:
    """Split a text into its messages, and report flaws around them. Never raises."""
    if isinstance(data, bytes) and data.isascii() and _is_single_message(text := data.decode("ascii")):
        return MessageBatch([text])
    is_bytes = isinstance(data, bytes)
    if isinstance(data, bytes):
        is_bytes = detect_wide_codec(data) is None
        data = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1") if is_bytes else decode_message(data)
    if not is_bytes and _is_single_message(data):
        return MessageBatch([data])
    reader = _BatchReader(is_bytes)
    for line in _LINE_ENDS.split(data):
        reader.read_line(_strip_padding(line))
    return reader.finish()


def _strip_padding(line: str) -> str:
    """Strip padding from a line. Concatenated files have byte order marks in the middle."""
    line = line.lstrip(_LEADING_PADDING)
    while line.startswith(_BYTE_ORDER_MARK_AS_LATIN):
        line = line[len(_BYTE_ORDER_MARK_AS_LATIN) :].lstrip(_LEADING_PADDING)
    return line.rstrip(_PADDING)


def _is_segment(line: str, *names: str) -> bool:
    """Return whether a line is one of these segments.

    The field separator must be ASCII, because the charset is not known yet.
    """
    separator = line[3:4]
    return line[:3] in names and separator.isascii() and not separator.isalnum()


def _is_single_message(data: str) -> bool:
    """Return whether the text is one message in normal form, as nearly all are. This check is fast."""
    if not _is_segment(data, "MSH") or not data.endswith("\r"):
        return False
    for text in _NOT_IN_SINGLE_MESSAGE:  # noqa: SIM110  (a loop is faster; every message is checked)
        if text in data:
            return False
    return True


class _BatchReader:
    """Reads the lines in one pass. Bytes are read as Latin-1 first, because each message has its own charset."""

    def __init__(self, is_bytes: bool) -> None:
        self.batch = MessageBatch()
        self._is_bytes = is_bytes
        self._lines: list[str] = []
        self._file_header: Segment | None = None
        self._batch_header: Segment | None = None
        self._message_count = 0
        self._batch_count = 0
        self._file_ended = False
        self._stray_reported = False

    def read_line(self, line: str) -> None:
        if not line:
            return
        if _is_segment(line, "MSH"):
            self._finish_message()
            self._begin_message(line)
        elif _is_segment(line, *_HEADERS):
            self._finish_message()
            self._read_header(line)
        elif _is_segment(line, *_TRAILERS):
            self._finish_message()
            self._read_trailer(line)
        elif self._lines:
            self._lines.append(line)
        elif not self._stray_reported:
            self._stray_reported = True  # reported once, however many such lines there are
            self._report(
                "100", f"{line[:MAX_SHOWN_LENGTH]!r} does not belong to a message: a message starts with MSH", line[:3]
            )

    def finish(self) -> MessageBatch:
        """Return the batch, after the last line."""
        self._finish_message()
        if self._batch_header is not None:
            self._report_missing_trailer("BHS", "BTS")
        if self._file_header is not None and not self._file_ended:
            self._report_missing_trailer("FHS", "FTS")
        return self.batch

    def _begin_message(self, line: str) -> None:
        if self._file_ended:
            self._report("100", "a message follows FTS, the end of the file", "MSH")
        elif self.batch.headers and self._batch_header is None and self._batch_count:
            self._report("100", "a message follows BTS, outside any batch", "MSH")
        self._lines = [line]
        self._stray_reported = False
        self._message_count += 1

    def _finish_message(self) -> None:
        if self._lines:
            text = "".join(f"{line}\r" for line in self._lines)
            self.batch.messages.append(decode_message(text.encode("latin-1")) if self._is_bytes else text)
            self._lines = []

    def _read_header(self, line: str) -> None:
        segment = self._parse_segment(line)
        name = segment.name
        if name == "FHS":
            if self._file_header is not None or self.batch.messages or self._batch_header is not None:
                self._report("100", "FHS may only be the first segment", name)
            self._file_header = segment
            self._file_ended = False
        else:
            if self._batch_header is not None:
                self._report_missing_trailer("BHS", "BTS")
            elif self.batch.messages and not self._batch_count:
                self._report("100", "BHS follows messages that are in no batch", name)
            self._batch_header, self._message_count = segment, 0
        self.batch.headers.append(segment)
        self.batch.control_ids.append(segment.text(11))

    def _read_trailer(self, line: str) -> None:
        segment = self._parse_segment(line)
        self.batch.trailers.append(segment)
        if segment.name == "BTS":
            if self._batch_header is None:
                self._report("100", "BTS without BHS", "BTS")
            self._check_count(segment, self._message_count, "message", "in the batch")
            self._batch_count += 1
            self._batch_header, self._message_count = None, 0
            return
        if self._file_header is None:
            self._report("100", "FTS without FHS", "FTS")
        if self._batch_header is not None:
            self._report_missing_trailer("BHS", "BTS")
            self._batch_header = None
            self._batch_count += 1
        # BHS and BTS may be missing: FTS-1 may then count one batch, or none
        is_implicit = bool(self.batch.messages) and not self._batch_count
        if not is_implicit or segment.text(1) != "0":
            self._check_count(segment, self._batch_count + is_implicit, "batch", "in the file")
        self._file_ended = True

    def _parse_segment(self, line: str) -> Segment:
        head = self.batch.headers[-1] if self.batch.headers else None
        try:
            delimiters = parse_delimiters(line if line[:3] in _HEADERS or head is None else head.render())
        except BadMessage as error:
            if line[:3] in _HEADERS:
                self._report("102", str(error), line[:3], field=2)
            return parse_segment(line)
        return parse_segment(line, delimiters)

    def _check_count(self, segment: Segment, count: int, unit: str, where: str) -> None:
        stated = segment.text(1)
        if not stated:
            return
        if not (stated.isascii() and stated.isdigit() and len(stated) < 10):
            self._report(
                "102", f"{segment.name}-1 must be a number, not {stated[:MAX_SHOWN_LENGTH]!r}", segment.name, field=1
            )
        elif int(stated) != count:
            plural = {"message": "messages", "batch": "batches"}[unit] if count != 1 else unit
            verb = "are" if count != 1 else "is"
            self._report(
                "102", f"{segment.name}-1 says {stated}, but there {verb} {count} {plural} {where}", segment.name, 1
            )

    def _report_missing_trailer(self, header: str, trailer: str) -> None:
        self._report("100", f"{header} without {trailer}", trailer)

    def _report(self, code: str, text: str, segment: str, field: int | None = None) -> None:
        if len(self.batch.flaws) < MAX_BATCH_FLAWS:
            self.batch.flaws.append(Flaw(code, text, segment, 1, field))
