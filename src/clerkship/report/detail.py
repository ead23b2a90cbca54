"""One trial with everything a report shows of it, put together from what a store keeps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.events.event import parse_line
from clerkship.events.request import BODY_FIELD
from clerkship.events.request_line import render_logged_request
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.report.outcome import outcome

MAX_BODY_BYTES = 16_384
"""Bytes of a body kept outside the log that are put back for reading."""


@dataclass(frozen=True)
class TaskDetail:
    """A trial's record, its log as parsed lines, the task as it was frozen, and what differs between machines."""

    task_run: TaskRun
    events: list[dict[str, Any]]
    snapshot: Snapshot | None
    sidecar: dict[str, Any]
    changed: str = ""
    """What of it was changed in the store after it was saved."""

    @property
    def outcome(self) -> str:
        """How it came out; a changed trial has no outcome that can be trusted."""
        return "changed" if self.changed else outcome(self.task_run)


def parse_detail(task_run: TaskRun, lines: Iterable[bytes], sidecar: bytes, blob: Callable[[str], bytes]) -> TaskDetail:
    """A trial from the bytes a store hands out; `blob` is asked for the snapshot and for large bodies."""
    return TaskDetail(
        task_run,
        [_restore_bodies(parse_line(line), blob) for line in lines],
        Snapshot.model_validate_json(blob(task_run.snapshot)),
        orjson.loads(sidecar) if sidecar else {},
    )


def _restore_bodies(event: dict[str, Any], blob: Callable[[str], bytes]) -> dict[str, Any]:
    """Put large bodies back in place, as far as they are text, and add the line that its request is shown as."""
    line = render_logged_request(event)
    if line is not None:
        event["line"] = line
    for field, kept in event.get("blobs", {}).items():
        try:
            text = blob(kept["sha256"])[:MAX_BODY_BYTES].decode(
                errors="strict" if kept["form"] == "bytes" else "ignore"
            )
        except UnicodeDecodeError:
            continue
        holder, name = (event["request"], "body") if field == BODY_FIELD else (event["payload"], field)
        holder[name] = text if kept["size"] <= MAX_BODY_BYTES else f"{text} …"
    return event
