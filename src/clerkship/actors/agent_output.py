"""Keep what a Python agent prints, logs and warns, per trial, though all trials share one process.

Standard output and standard error are replaced by streams that pass everything on, and copy it to the trial whose
context the writing code runs in. Threads that an agent starts by itself have no such context: what they print is
passed on and not kept.
"""

import contextvars
import sys
import warnings
from typing import Any, TextIO, cast

from clerkship.kit.text import last_part

MAX_CHARACTERS = 65_536
"""Of one trial; the end is kept."""
_CURRENT: contextvars.ContextVar["AgentOutput | None"] = contextvars.ContextVar("agent_output", default=None)


class AgentOutput:
    """What the agent of one trial has printed."""

    def __init__(self) -> None:
        self._text = ""
        self.context = contextvars.copy_context()
        """The context to run the agent's code in."""
        self.context.run(_CURRENT.set, self)
        watch_streams()
        # Python shows a warning once per place in the code; changing the filters makes it show each once more.
        warnings.simplefilter("default", append=True)

    def add(self, text: str) -> None:
        """Append text; drop the beginning of what is too long."""
        self._text += text
        if len(self._text) > 2 * MAX_CHARACTERS:
            self._text = self._text[-MAX_CHARACTERS:]

    def text(self) -> str:
        """Return the end of what was printed."""
        return last_part(self._text, MAX_CHARACTERS)


class CopyingStream:
    """A text stream that passes everything on and copies what an agent writes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to the stream, and to the output of the current trial."""
        output = _CURRENT.get()
        if output is None:
            return self._stream.write(text)
        output.add(text)
        token = _CURRENT.set(None)  # the stream below may be another of these
        try:
            return self._stream.write(text)
        finally:
            _CURRENT.reset(token)

    def writelines(self, lines: list[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the stream."""
        return getattr(self._stream, name)


def watch_streams() -> None:
    """Replace standard output and standard error, unless that was done."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, CopyingStream):
            setattr(sys, name, cast(TextIO, CopyingStream(stream)))
