"""Read the content of an e-mail from an SMTP connection, within a size limit."""

import asyncio
from collections.abc import Callable
from typing import Any

MAX_LINE_BYTES = 998
"""Without its line break (RFC 5321 §4.5.3.1.6)."""
MAX_DISCARDED_BYTES = 100_000_000
"""Bytes beyond the limit that are read and discarded, so that the client gets its reply, before the connection is
closed."""
END = b"\r\n.\r\n"


class SmtpStatus(Exception):
    """A reply of SMTP that refuses a command or an e-mail."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class DataReader:
    """Reads until the end of the data, a dot alone in a line."""

    def __init__(self, reader: asyncio.StreamReader, limit: int, hold: Callable[[int], bool]) -> None:
        self._reader: Any = reader
        self._limit, self._hold = limit, hold
        self.is_cut = False
        """Whether the client was still sending when reading stopped."""

    async def read(self) -> bytes:
        """Return the content. Raises SmtpStatus if it is too large; nothing is kept from then on."""
        # The end may follow at once, and the line break before it is then that of the DATA command.
        self._reader._buffer[:0] = b"\r\n"
        content, size, problem = bytearray(), 0, None
        is_complete = False
        while not is_complete:
            piece, is_complete = await self._read_piece()
            size += len(piece)
            if problem is None:
                content += piece
                problem = self._check_size(size)
            if problem is not None:
                content = bytearray()
                if size > self._limit + MAX_DISCARDED_BYTES:
                    self.is_cut = True
                    break
        if problem is not None:
            raise problem
        # The dot that a client puts before a dot at the start of a line (RFC 5321 §4.5.2).
        return bytes(content[: -len(b".\r\n")].replace(b"\r\n..", b"\r\n.")[len(b"\r\n") :])

    def _check_size(self, size: int) -> SmtpStatus | None:
        if size > self._limit + len(END) + len(b"\r\n"):
            return SmtpStatus("552", f"5.3.4 the e-mail is larger than {self._limit} bytes")
        if not self._hold(size):
            return SmtpStatus("452", "4.3.1 too many e-mails are being received at once; try again later")
        return None

    async def _read_piece(self) -> tuple[bytes, bool]:
        """Return the next bytes, and whether the end of the data is at their end."""
        try:
            return await self._reader.readuntil(END), True
        except asyncio.LimitOverrunError as overrun:
            return await self._reader.read(max(1, overrun.consumed)), False


def check_content(content: bytes) -> None:
    """Refuse content that other servers would read differently.

    A line break is CRLF and nothing else (RFC 5321 §2.3.8): a bare LF around a dot would end the e-mail for some
    servers, and what follows would be another one.
    """
    breaks = content.count(b"\r\n")
    if content.count(b"\r") != breaks or content.count(b"\n") != breaks:
        raise SmtpStatus("554", "5.5.2 a line ends with a bare CR or LF; lines end with CR LF")
    if b"\0" in content:
        raise SmtpStatus("554", "5.6.0 the e-mail contains a NUL")
    if any(len(line) > MAX_LINE_BYTES for line in content.split(b"\r\n")):
        raise SmtpStatus("500", f"5.5.2 a line is longer than {MAX_LINE_BYTES} bytes")
