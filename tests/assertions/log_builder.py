"""Build an event log by hand, and the evidence from it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.log import open_log
from clerkship.model.task import Task
from clerkship.playground.component import Overlay
from clerkship.simulators.chat.events import ChatMessageSent
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.events import FileRead, FileWritten
from clerkship.simulators.files.state import FilesState

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class LogBuilder:
    """An event log. Events are one second apart unless `at` is given."""

    def __init__(self) -> None:
        self.log, self._writer = open_log()
        self.states: dict[str, object] = {}
        self._turn = 0

    def add_event(
        self, payload: Payload, *, source: str = "agent", actor: str = "agent", at: float | None = None
    ) -> Event:
        """Add an event; `at` is in seconds from the start."""
        seconds = len(self.log.events) if at is None else at
        return self._writer.append(source, payload, actor=actor, at=START + timedelta(seconds=seconds))

    def add_message(
        self, text: str, *, actor: str = "agent", source: str = "chat", at: float | None = None, **extra: Any
    ) -> Event:
        """Add a message; one of the person starts a turn."""
        self._turn += actor != "agent"
        return self.add_event(
            ChatMessageSent(text=text, turn=max(self._turn, 1), **extra), source=source, actor=actor, at=at
        )

    def read(self, path: str, *, actor: str = "agent", source: str = "drop", at: float | None = None) -> Event:
        """Add a read of a file."""
        return self.add_event(FileRead(path=path, size=1), source=source, actor=actor, at=at)

    def add_write(self, path: str, data: bytes = b"x", *, source: str = "drop", at: float | None = None) -> Event:
        """Add a write of a file by the agent."""
        return self.add_event(FileWritten(path=path, size=len(data), data=data), source=source, at=at)

    def with_files(self, sandbox: str, files: Mapping[str, bytes]) -> "LogBuilder":
        """Set the files of a sandbox at the end."""
        self.states[sandbox] = FilesState(FilesConfig(), Overlay(dict(files)))
        return self

    def evidence(self, **extra: Any) -> Evidence:
        """Return the evidence of the run."""
        task = Task(name="A task", compat=extra.pop("compat", None))
        return Evidence(task, self.log.ordered(), self.states, extra.pop("ending", "agent_done"), **extra)
