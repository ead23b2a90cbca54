"""One trial with everything that a report shows of it, loaded from a store."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from clerkship.events.event import BODY_FIELD, parse_line
from clerkship.events.request_line import render_logged_request
from clerkship.model.duration import describe_duration
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.report.costs import dollars
from clerkship.report.fax_pages import StoredPage, find_pages, summarize_fax_event
from clerkship.report.outcome import outcome
from clerkship.report.site_page import SITE_EVENTS, ReadPage, take_page

MAX_BODY_BYTES = 16_384
"""Bytes of a stored body that are shown."""


@dataclass(frozen=True)
class TaskDetail:
    """A trial's record, its events, the frozen task, and the sidecar."""

    task_run: TaskRun
    events: list[dict[str, Any]]
    snapshot: Snapshot | None
    sidecar: dict[str, Any]
    changed: str = ""
    """What was changed in the store after the trial was saved."""
    pages: dict[str, StoredPage] = field(default_factory=dict)
    """Pages of faxes, by their hashes."""
    site_pages: dict[str, ReadPage] = field(default_factory=dict)
    """Pages of websites as they were sent, by their hashes."""

    @property
    def outcome(self) -> str:
        """The outcome; `changed` if the stored trial was changed, because it cannot be trusted."""
        return "changed" if self.changed else outcome(self.task_run)


class StoredTrial(NamedTuple):
    """A trial from a store."""

    task_run: TaskRun
    lines: Iterable[bytes]
    sidecar: bytes


class JunitCase(NamedTuple):
    """A trial, with its source file and duration."""

    task_run: TaskRun
    source: str
    """The task's file, relative to the folder that was run."""
    seconds: float


def parse_detail(task_run: TaskRun, lines: Iterable[bytes], sidecar: bytes, blob: Callable[[str], bytes]) -> TaskDetail:
    """Build a trial from the bytes of a store; `blob` returns the snapshot and large bodies.

    The lines may be a part of the log; facts of the sidecar about other events are left out.
    """
    events = [parse_line(line) for line in lines]
    facts = orjson.loads(sidecar) if sidecar else {}
    pages = find_pages(events, blob)
    taken = (take_page(event, blob) for event in events if event["kind"] in SITE_EVENTS)
    site_pages = dict(page for page in taken if page is not None)
    restored = [_restore_bodies(event, blob) for event in events]
    begin = restored[0]["seq"] if restored else 1
    for call in facts.get("model_calls", ()):
        if 0 <= call["seq"] - begin < len(restored):
            restored[call["seq"] - begin]["line"] += f", {_describe_model_call(call)}"
    for span in facts.get("spans", ()):
        if 0 <= span["seq"] - begin < len(restored):
            restored[span["seq"] - begin]["line"] += "".join(_describe_span(span))
    return TaskDetail(
        task_run,
        restored,
        Snapshot.model_validate_json(blob(task_run.snapshot)),
        facts,
        pages=pages,
        site_pages=site_pages,
    )


def _describe_model_call(call: dict[str, Any]) -> str:
    """Return `1,200 tokens in, 80 out, $0.0012, 850 ms`."""
    cost = "cost not known" if call["cost"] is None else dollars(call["cost"])
    took = f", {describe_duration(call['wall_ms'] / 1000)}" if "wall_ms" in call else ""
    return f"{call['prompt_tokens']:,} tokens in, {call['completion_tokens']:,} out, {cost}{took}"


def _describe_span(span: dict[str, Any]) -> Iterator[str]:
    """Yield `, 1,200 tokens in, 80 out` and `, 850 ms`, as far as the agent said so."""
    if "input_tokens" in span or "output_tokens" in span:
        yield f", {span.get('input_tokens', 0):,} tokens in, {span.get('output_tokens', 0):,} out"
    if "wall_ms" in span:
        yield f", {describe_duration(span['wall_ms'] / 1000)}"


def _restore_bodies(event: dict[str, Any], blob: Callable[[str], bytes]) -> dict[str, Any]:
    """Insert large text bodies into an event, and add the line that describes its request."""
    line = render_logged_request(event)
    if line is not None:
        event["line"] = line
    summarize_fax_event(event, blob)
    for name, body in event.get("blobs", {}).items():
        try:
            text = blob(body["sha256"])[:MAX_BODY_BYTES].decode(
                errors="strict" if body["form"] == "bytes" else "ignore"
            )
        except UnicodeDecodeError:
            continue
        holder, field_name = (event["request"], "body") if name == BODY_FIELD else (event["payload"], name)
        holder[field_name] = text if body["size"] <= MAX_BODY_BYTES else f"{text} …"
    return event
