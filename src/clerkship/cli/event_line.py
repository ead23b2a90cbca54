"""One event on one line: for logs that are kept, and for one that is being written."""

from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape

LONGEST = 160


def print_event(console: Console, event: dict[str, Any]) -> None:
    """Place in the log, time, where, what, who, and the beginning of what it says."""
    because = f" [quiet]because of #{event['cause']}[/]" if event["cause"] else ""
    payload = orjson.dumps(event["payload"] | event.get("blobs", {})).decode()
    text = payload if len(payload) <= LONGEST else payload[:LONGEST] + "…"
    at = event["at"].replace("T", " ").removesuffix("Z")
    console.print(
        f"[quiet]#{event['seq']:<3} {at}[/] [place]{escape(event['source'])}[/] {escape(event['kind'])} "
        f"[quiet]{escape(event['actor'])}[/] {escape(text)}{because}"
    )
