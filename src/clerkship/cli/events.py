"""`clerkship events`: the log of a playground that is up."""

from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out, print_json, print_json_line
from clerkship.cli.event_line import print_event
from clerkship.cli.options import PlaygroundName
from clerkship.kit.stop_signals import StopFlag, handle_stop_signals
from clerkship.service.live_check import build_remote_redactor, check_kinds, matches_any_kind, read_events
from clerkship.service.up_registry import (
    PlaygroundRegistration,
    PlaygroundUnreachable,
    RemotePlayground,
    find_playground,
    get_registry_folder,
)
from clerkship.settings import load_settings

POLL_SECONDS = 0.2


def events(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing until the playground stops or you press Ctrl-C.")
    ] = False,
    after: Annotated[int, typer.Option(metavar="N", help="Only events after #N.", min=0)] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Only events of this kind; `*` is a wildcard; may be repeated."),
    ] = None,
    name: PlaygroundName = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; with --follow, one line for each event.")] = False,
) -> None:
    """Print the log of a playground started with `clerkship up`.

    Run it in the same folder. It does not change the playground or its clock.

    Exit codes: 0, or 2 if no playground is up.

    Example:

        clerkship events --follow --kind "files.*"
    """
    kinds = kind or []
    check_kinds(kinds, build_catalog())
    registration = find_playground(get_registry_folder(load_settings()), name)
    with RemotePlayground(registration.url, registration.token) as remote:
        if follow:
            _follow(remote, registration, after, kinds, json=json)
            return
        selected = [
            event
            for event in read_events(remote, after, build_remote_redactor(remote))
            if matches_any_kind(event, kinds)
        ]
        offset = remote.about().get("utc_offset", 0)
    if json:
        print_json({"events": selected})
    console = out()
    for event in selected if not json else ():
        print_event(console, event, offset)


def _follow(
    remote: RemotePlayground, registration: PlaygroundRegistration, after: int, kinds: list[str], *, json: bool
) -> None:
    console, stop, redactor = out(), StopFlag(), build_remote_redactor(remote)
    offset = remote.about().get("utc_offset", 0)
    # No KeyboardInterrupt: one raised while a line is printed can be lost.
    with handle_stop_signals(stop.set):
        try:
            while not stop.is_set:
                for event in read_events(remote, after, redactor):
                    after = event["seq"]
                    if matches_any_kind(event, kinds):
                        print_json_line(event) if json else print_event(console, event, offset)
                stop.wait(POLL_SECONDS)
        except PlaygroundUnreachable:
            err().print(f"[quiet]the playground {escape(registration.name)} has ended[/]")
