"""Prints an event on one line."""

from datetime import datetime
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.events.request_line import render_logged_request
from clerkship.kit.zone import format_short

MAX_PAYLOAD_LENGTH = 160


def print_event(console: Console, event: dict[str, Any], offset: int) -> None:
    """Print an event on one line: number, time, sandbox, kind, actor, and its request or the start of its payload.

    `offset` is that of the environment's zone from UTC, in minutes.
    """
    cause = f" [quiet]caused by #{event['cause']}[/]" if event["cause"] else ""
    text = render_logged_request(event) or _render_payload(event)
    time = format_short(datetime.fromisoformat(event["at"]), offset)
    line = (
        f"[quiet]#{event['seq']:<3} {time}[/] [place]{escape(event['source'])}[/] {escape(event['kind'])} "
        f"[quiet]{escape(event['actor'])}[/] {escape(text)}{cause}"
    )
    if not console.is_terminal:
        console.print(line)
        return
    row = Table.grid(padding=(0, 1))
    row.add_column(no_wrap=True, style="quiet")
    row.add_column(overflow="fold")
    head, _, details = line.partition("[/] ")
    row.add_row(f"{head}[/]", details)  # what does not fit a line goes on below its own column
    console.print(row)


def _render_payload(event: dict[str, Any]) -> str:
    fields = {name: value for name, value in event["payload"].items() if value not in (None, [], {}, "")}
    text = orjson.dumps(fields | event.get("blobs", {})).decode()
    return text if len(text) <= MAX_PAYLOAD_LENGTH else text[:MAX_PAYLOAD_LENGTH] + "…"
