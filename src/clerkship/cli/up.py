"""`clerkship up`: a playground that stays up, for developing an agent."""

import queue
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out, print_json_line
from clerkship.cli.event_line import print_event
from clerkship.cli.groups import grouped
from clerkship.events.event import Event
from clerkship.model.redaction import Redactor
from clerkship.playground.playground import Playground
from clerkship.service.up import (
    PlaygroundRequest,
    RunningPlayground,
    SandboxAccess,
    open_playground,
    parse_listener_ports,
)
from clerkship.settings import get_command_prefix, load_settings

POLL_SECONDS = 0.2


@grouped
def up(
    *,
    request: PlaygroundRequest,
    listener: Annotated[
        list[str] | None,
        typer.Option(
            "--listener",
            metavar="NAME=PORT",
            help="Port of a listener, such as mllp=2575; may be repeated. [default: a free port]",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON and no events.")] = False,
) -> None:
    """Start a playground that stays up, for developing an agent.

    Prints the address and token of each sandbox, then every event. With --task, it sets up the task as a run would:
    steps, scheduled steps and the person. In the same folder, `clerkship events` prints the log and `clerkship check`
    grades the task so far. Ctrl-C stops it; nothing is stored.

    Exit codes: 0 stopped, 2 it could not be started.

    Examples:

        clerkship up clinic --from suites/clinic

        clerkship up --from suites/clinic --task "Move an appointment" --port 8080

        clerkship up --from suites/feeds --listener mllp=2575 --listener sftp=2222
    """
    request = replace(request, listener_ports=parse_listener_ports(listener or ()))
    tail = EventPrinter()
    with tail.stop_on_signal(), open_playground(request, load_settings(), build_catalog(), tail.add) as play:
        if json:
            print_json_line(_to_json_data(play))
        else:
            print_playground(out(), play)
        tail.follow(play.playground, None if json else out(), play.redactor)
    if not json:
        out().print(f"[quiet]stopped after {len(play.playground.log.events)} events; nothing is stored[/]")


class EventPrinter:
    """Prints events as they happen. The threads that emit events only add a number to a queue."""

    def __init__(self) -> None:
        # A SimpleQueue may be put to from a signal handler, whatever it interrupts.
        self._new_events: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._is_stopped = False
        self._has_reported_error = False

    def add(self, event: Event) -> None:
        """Add an event to print."""
        self._new_events.put(event.seq)

    @contextmanager
    def stop_on_signal(self) -> Iterator[None]:
        """Stop cleanly on Ctrl-C or SIGTERM inside this context; a second Ctrl-C interrupts."""

        def stop(number: int, frame: object) -> None:
            self._is_stopped = True
            self._new_events.put(0)
            signal.signal(number, signal.default_int_handler)

        before = {number: signal.signal(number, stop) for number in _stop_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def follow(self, playground: Playground, console: Console | None, by: Redactor) -> None:
        """Print events until it is stopped."""
        while not self._is_stopped:
            try:
                seq = self._new_events.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self._report_error(playground)
                continue
            if seq and console is not None:
                print_event(console, by.event(orjson.loads(playground.log.lines[seq - 1])))
        self._report_error(playground)

    def _report_error(self, playground: Playground) -> None:
        if playground.broken is not None and not self._has_reported_error:
            self._has_reported_error = True
            err().print(f"[fail]✗ platform error:[/] {escape(playground.broken)}; stop it and start again")


def _stop_signals() -> list[int]:
    """Return the signals that stop it: SIGINT, SIGTERM, and SIGHUP unless it is ignored."""
    hang_up = getattr(signal, "SIGHUP", None)  # not on every platform
    is_handled = hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([hang_up] if hang_up is not None and is_handled else [])]


def print_playground(console: Console, play: RunningPlayground) -> None:
    """Print the address of each sandbox, with commands to paste."""
    environment = play.playground.environment
    about = f"{play.playground.started_at:%Y-%m-%d %H:%M:%S} UTC, {environment.time}  seed {play.seed}"
    _print(console, f"[bold]{escape(environment.name)}[/] is up  [quiet]{about}[/]")
    if play.task is not None:
        _print(console, f"[quiet]task[/]  {escape(play.task.name)}")
    if play.task_item is not None:
        item = orjson.dumps(play.task_item, option=orjson.OPT_INDENT_2).decode()
        _print(console, f"[quiet]task item[/]  {escape(item)}")
    for name, way in play.sandboxes.items():
        _print_access(console, name, way)
    _print_access(console, "clock", play.clock, "any sandbox's")
    console.print()
    for what, line in _commands(play).items():
        _print(console, f"[quiet]{what:<7}[/]{escape(line)}")
    console.print()


def _print_access(console: Console, name: str, way: SandboxAccess, token: str = "") -> None:
    kind = f"  [quiet]{way.kind}[/]" if way.kind != name else ""
    console.print()
    _print(console, f"[place]{name}[/]{kind}  {escape(way.url)}")
    _print(console, f"  [quiet]token[/]  {escape(token or way.token)}")
    if way.curl:
        _print(console, f"  {escape(way.curl)}")
    for protocol, connection in (*way.credentials.items(), *way.listeners.items()):
        parts = ", ".join(f"{key} {_shorten(value)}" for key, value in connection.items())
        _print(console, f"  [quiet]{protocol}[/]  {escape(parts)}")
    for protocol, reason in way.missing.items():
        _print(console, f"  [quiet]{protocol}[/]  not available: {escape(reason)}")
    for example in way.examples:
        _print(console, f"  {escape(example)}")


def _shorten(value: str | int) -> str:
    """Return a value, or a note that a text of several lines is in `--json`."""
    return f"({len(value.splitlines())} lines, see --json)" if isinstance(value, str) and "\n" in value else str(value)


def _print(console: Console, markup: str) -> None:
    console.print(markup, soft_wrap=True)  # commands to paste must stay on one line


def _commands(play: RunningPlayground) -> dict[str, str]:
    """Return the commands for a second terminal."""
    which = "" if play.alone else f" --name {shlex.quote(play.where.name)}"
    return {
        "events": f"{get_command_prefix()} events --follow{which}",
        "check": f"{get_command_prefix()} check{' TASK' if play.task is None else ''}{which}",
        "stop": f"Ctrl-C, or kill {play.where.pid}",
    }


def _to_json_data(play: RunningPlayground) -> dict[str, Any]:
    environment = play.playground.environment
    return {
        "name": play.where.name,
        "playground": play.where.playground,
        "environment": environment.name,
        "now": play.playground.started_at,
        "time": environment.time,
        "seed": play.seed,
        "task": play.task.name if play.task is not None else None,
        "task_item": play.task_item,
        "url": play.url,
        "sandboxes": {name: asdict(way) for name, way in play.sandboxes.items()},
        "clock": asdict(play.clock),
        "commands": _commands(play),
        "pid": play.where.pid,
    }
