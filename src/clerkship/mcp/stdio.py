"""MCP over standard input and output: one message on each line."""

from collections.abc import Callable
from typing import BinaryIO

from clerkship.mcp.messages import INVALID_REQUEST, MAX_MESSAGE_BYTES, ProtocolError, render_error

AnswerLine = Callable[[bytes], bytes]
"""Returns the response to a message, or nothing for one that needs none."""


def serve_lines(source: BinaryIO, target: BinaryIO, answer: AnswerLine) -> None:
    """Answer messages in order until the input ends. A line that is too long is refused and skipped."""
    while line := source.readline(MAX_MESSAGE_BYTES + 1):
        if len(line) > MAX_MESSAGE_BYTES and not line.endswith(b"\n"):
            _skip_line(source)
            text = f"the message has more than {MAX_MESSAGE_BYTES:,} bytes"
            response = render_error(None, ProtocolError(INVALID_REQUEST, text))
        else:
            response = answer(line) if line.strip() else b""
        if response:
            target.write(response.rstrip(b"\n") + b"\n")
            target.flush()


def _skip_line(source: BinaryIO) -> None:
    while (rest := source.readline(MAX_MESSAGE_BYTES)) and not rest.endswith(b"\n"):
        pass
