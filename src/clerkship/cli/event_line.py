"""One event on one line: for logs that are kept, and for one that is being written."""

from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

LONGEST = 160


def print_event(console: Console, event: dict[str, Any]) -> None:
    """Place in the log, time, where, what, who, and the beginning of what it says."""
    because = f" [quiet]because of #{event['cause']}[/]" if event["cause"] else ""
    told = {name: value for name, value in event["payload"].items() if value not in (None, [], {}, "")}
    payload = orjson.dumps(told | event.get("blobs", {})).decode()
    text = payload if len(payload) <= LONGEST else payload[:LONGEST] + "…"
    at = event["at"].replace("T", " ").removesuffix("Z")[:19]
    line = (
        f"[quiet]#{event['seq']:<3} {at}[/] [place]{escape(event['source'])}[/] {escape(event['kind'])} "
        f"[quiet]{escape(event['actor'])}[/] {escape(text)}{because}"
    )
    if not console.is_terminal:
        console.print(line)
        return
    row = Table.grid(padding=(0, 1))
    row.add_column(no_wrap=True, style="quiet")
    row.add_column(overflow="fold")
    head, _, rest = line.partition("[/] ")
    row.add_row(f"{head}[/]", rest)  # what does not fit a line goes on below its own column
    console.print(row)
