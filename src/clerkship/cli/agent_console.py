"""Show on standard error what agents print while they run."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clerkship.actors.agent_output import show_output
from clerkship.engine.worker import THREAD_NAME
from clerkship.model.redaction import NO_REDACTION, Redactor
from clerkship.report.plain_text import escape_ci_commands

MAX_PARTIAL_LINE = 10_000
"""Characters of a line that are kept until it is complete."""


class AgentConsole:
    """Shows what agents print on standard error, without values of variables or commands to a CI system.

    Where a run uses variables, output is shown line by line, so that a value written in parts is recognised.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._partial: dict[int, str] = {}
        """Text of each thread that has no line end yet."""
        self._last = "\n"
        """The last character that was shown."""

    def takes(self) -> bool:
        """Return whether the current thread runs a trial: plug-ins print there too, and stdout is for verdicts."""
        return threading.current_thread().name.startswith(THREAD_NAME)

    def write(self, text: str) -> None:
        """Show text, or keep it until its line is complete."""
        if not self._redactor:
            self._show(text)
            return
        thread = threading.get_ident()
        complete, end, partial = (self._partial.pop(thread, "") + text).rpartition("\n")
        if len(partial) > MAX_PARTIAL_LINE:
            complete, end, partial = complete + end + partial, "", ""
        if partial:
            self._partial[thread] = partial
        self._show(complete + end)

    def flush(self) -> None:
        """Show the lines that were never completed."""
        while self._partial:
            self._show(self._partial.popitem()[1])

    def _show(self, text: str) -> None:
        if text:
            sys.stderr.write(escape_ci_commands(self._last + self._redactor.text(text))[1:])
            self._last = text[-1]


@contextmanager
def agents_print_to_stderr(redactor: Redactor = NO_REDACTION) -> Iterator[None]:
    """Show on standard error what agents print: standard output is for verdicts, and a reader may close it."""
    console = AgentConsole(redactor)
    with show_output(console):
        try:
            yield
        finally:
            console.flush()
