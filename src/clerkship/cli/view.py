"""`clerkship view`: the runs of a store, or of a server, in the browser."""

import shlex
import sys
import webbrowser
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.console import out, print_json_line
from clerkship.kit.stop_signals import StopFlag, handle_stop_signals
from clerkship.model.store_place import parse_store_place
from clerkship.service.server_key import KeyFile
from clerkship.settings import Settings, load_settings
from clerkship.store.opening import open_store
from clerkship.viewer.answering import respond
from clerkship.viewer.application import Answer, LocalViewer
from clerkship.viewer.context import ViewerContext

_POLL_SECONDS = 60.0


def view(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE | URL]", help="Store file, or address of a server. [default: .clerkship/store.db]"
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port; 0 for a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address.")] = False,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON when it is ready.")] = False,
) -> None:
    """Show runs in the browser: list, compare, label and delete them, and read every trial.

    It listens on loopback only. The address that it prints has a token, with which the runs can be read and changed:
    keep it to yourself. For a server, requests are passed on with your key, which the browser never has. Ctrl-C or
    SIGTERM stops it.

    Exit codes: 0 stopped, 2 it could not be started.

    Examples:

        clerkship view

        clerkship view .clerkship/store.db --no-open

        clerkship view https://tests.example.org/clerkship
    """
    settings = load_settings()
    shown = str(parse_store_place(source)) if source is not None else str(settings.store)
    stopped = StopFlag()
    with (
        handle_stop_signals(stopped.set),
        _open_answer(source, settings, key_file) as answer,
        LocalViewer(answer, port) as viewer,
    ):
        if json:
            print_json_line({"url": viewer.url, "source": shown})
        else:
            out().print(f"[bold]Clerkship[/] shows [place]{escape(shown)}[/]", soft_wrap=True)
            out().print(f"[quiet]open[/]  {escape(viewer.url)}", soft_wrap=True)
            out().print("[quiet]stop[/]  Ctrl-C", soft_wrap=True)
        Thread(target=load("clerkship.viewer.routes:import_handlers"), name="imports").start()
        if not json and not no_open and sys.stdout.isatty():
            webbrowser.open(viewer.url)
        while not stopped.wait(_POLL_SECONDS):
            pass


def _open_answer(source: str | None, settings: Settings, key_file: Path | None) -> AbstractContextManager[Answer]:
    """Return what answers requests: pages of a store, or those of a server."""
    if source is not None and source.startswith(("http://", "https://")):
        forwarding: AbstractContextManager[Answer] = load("clerkship.viewer.forwarding:open_forwarding")(
            source, key_file, settings
        )
        return forwarding
    path = parse_store_place(source) if source is not None else settings.store
    open_store(settings, path).close()  # says now what is wrong with it
    option = f" --store {shlex.quote(str(path))}" if source is not None else ""
    opener = partial(open_store, settings, path)
    return nullcontext(partial(respond, ViewerContext(settings, opener, store_option=option)))
