"""`clerkship events`: the log of a playground that is up."""

import signal
from threading import Event as Moment
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import registered
from clerkship.cli.console import err, out, print_json, print_json_line
from clerkship.cli.event_line import print_event
from clerkship.cli.options import PlaygroundName
from clerkship.service.live_check import check_kinds, is_wanted, read_events, redactor_of
from clerkship.service.remote import NotThere, Remote
from clerkship.service.up_registry import Whereabouts, find, folder_of
from clerkship.settings import load_settings

LOOK_EVERY = 0.2


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the playground or you stop.")] = False,
    after: Annotated[int, typer.Option(metavar="N", help="Only what comes after event #N.", min=0)] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Only events of this kind; `*` allowed; may be repeated."),
    ] = None,
    name: PlaygroundName = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead; with --follow, one a line per event.")
    ] = False,
) -> None:
    """Print the log of the playground that `clerkship up` started from this folder.

    Looking changes nothing: no event, no tick of the clock. Exit code: 0 · 2 no playground is up.

    Example:

        clerkship events --follow --kind "files.*"
    """
    kinds = kind or []
    check_kinds(kinds, registered())
    where = find(folder_of(load_settings()), name)
    with Remote(where.url, where.token) as remote:
        if follow:
            _follow(remote, where, after, kinds, json=json)
            return
        found = [event for event in read_events(remote, after, redactor_of(remote)) if is_wanted(event, kinds)]
    if json:
        print_json({"events": found})
    console = out()
    for event in found if not json else ():
        print_event(console, event)


def _follow(remote: Remote, where: Whereabouts, after: int, kinds: list[str], *, json: bool) -> None:
    console, stop, by = out(), Moment(), redactor_of(remote)
    # Not as an exception: one that strikes while a line is printed can be lost on its way.
    signal.signal(signal.SIGINT, lambda number, frame: stop.set())
    try:
        while not stop.is_set():
            for event in read_events(remote, after, by):
                after = event["seq"]
                if is_wanted(event, kinds):
                    print_json_line(event) if json else print_event(console, event)
            stop.wait(LOOK_EVERY)
    except NotThere:
        err().print(f"[quiet]the playground {escape(where.name)} has ended[/]")
