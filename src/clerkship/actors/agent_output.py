"""Capture what a Python agent prints, logs and warns, per trial, though all trials share one process.

Standard output and standard error are replaced by streams that pass everything on, and copy it to the trial in whose
context the code runs. Threads that an agent starts have no such context: their output is passed on and not captured.
"""

import contextvars
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO, cast

from clerkship.kit.text import cut_start

MAX_CHARACTERS = 65_536
"""For one trial; the end is stored."""
_PASSING: contextvars.ContextVar[bool] = contextvars.ContextVar("passing_output", default=False)
_SINKS: list["Sink | None"] = [None]
"""A stack; the last one is used."""
_CURRENT: contextvars.ContextVar["AgentOutput | None"] = contextvars.ContextVar("agent_output", default=None)


class AgentOutput:
    """The output of the agent of one trial."""

    def __init__(self) -> None:
        self._text = ""
        self.context = contextvars.copy_context()
        """The context to run the agent's code in."""
        self.context.run(_CURRENT.set, self)
        wrap_streams()
        # Python shows a warning once per place in the code; changing the filters makes it show each once more.
        warnings.simplefilter("default", append=True)

    def add(self, text: str) -> None:
        """Append text; drop the beginning if it is too long."""
        self._text += text
        if len(self._text) > 2 * MAX_CHARACTERS:
            self._text = self._text[-MAX_CHARACTERS:]

    def text(self) -> str:
        """Return the end of the output."""
        return cut_start(self._text, MAX_CHARACTERS)


class Sink(Protocol):
    """A target for the output of agents, in place of the stream they wrote to."""

    def takes(self) -> bool:
        """Return whether it also takes what the current thread writes outside an agent's code."""

    def write(self, text: str) -> None:
        """Show text."""


class CopyingStream:
    """A text stream that passes everything on and copies what an agent writes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Add text to the output of the current trial, and pass it on to the sink or to the stream."""
        if _PASSING.get():  # the wrapped stream may be a CopyingStream too
            return self.stream.write(text)
        output, sink = _CURRENT.get(), _SINKS[-1]
        if output is not None:
            output.add(text)
        if output is None and (sink is None or not sink.takes()):
            return self.stream.write(text)
        token = _PASSING.set(True)
        try:
            (sink or self.stream).write(text)
        finally:
            _PASSING.reset(token)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the stream."""
        return getattr(self.stream, name)


@contextmanager
def show_output(sink: Sink) -> Iterator[None]:
    """Send the output of agents to a sink, whichever stream they write to."""
    wrap_streams()
    _SINKS.append(sink)
    try:
        yield
    finally:
        _SINKS.remove(sink)


def wrap_streams() -> None:
    """Wrap standard output and standard error, unless they are wrapped already."""
    if type(sys.stdout) is not CopyingStream and sys.stdout is not None:
        sys.stdout = cast(TextIO, CopyingStream(sys.stdout))
    if type(sys.stderr) is not CopyingStream and sys.stderr is not None:
        sys.stderr = cast(TextIO, CopyingStream(sys.stderr))
