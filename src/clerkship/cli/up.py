"""`clerkship up`: one playground, for writing an agent against."""

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

from clerkship.cli.catalog import registered
from clerkship.cli.console import err, out, print_json_line
from clerkship.cli.event_line import print_event
from clerkship.cli.groups import grouped
from clerkship.events.event import Event
from clerkship.model.redaction import Redactor
from clerkship.playground.playground import Playground
from clerkship.service.up import Play, PlayRequest, Way, open_play, parse_line_ports
from clerkship.settings import load_settings, program

LOOK_EVERY = 0.2


@grouped
def up(
    *,
    request: PlayRequest,
    line: Annotated[
        list[str] | None,
        typer.Option(
            "--line",
            metavar="NAME=N",
            help="Have a line listen on this port, as mllp=2575; may be repeated. [default: any]",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on one line, and no events; for scripts.")
    ] = False,
) -> None:
    """Start a playground and leave it up, to write an agent against in any language.

    Prints where each sandbox is, with its token, then every event as it happens. With --task, what a run would set up
    is set up: steps, those that come later, the person. Other commands find it from the same folder: `events`
    prints its log, `check` says what a task's criteria make of it so far. Ctrl-C stops it, and nothing is kept. Exit
    code: 0 stopped · 2 it could not be started.

    Examples:

        clerkship up clinic --from suites/clinic

        clerkship up --from suites/clinic --task "Move an appointment" --port 8080

        clerkship up --from suites/feeds --line mllp=2575 --line sftp=2222
    """
    request = replace(request, line_ports=parse_line_ports(line or ()))
    tail = Tail()
    with tail.ending_by_signal(), open_play(request, load_settings(), registered(), tail.add) as play:
        if json:
            print_json_line(_document(play))
        else:
            print_play(out(), play)
        tail.follow(play.playground, None if json else out(), play.redactor)
    if not json:
        out().print(f"[quiet]stopped after {len(play.playground.log.events)} events; nothing is kept[/]")


class Tail:
    """Events as they happen. Whoever does something only leaves a number here; printing waits for nobody but itself."""

    def __init__(self) -> None:
        # A SimpleQueue may be put to from a signal handler, whatever it interrupts.
        self._news: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._over = False
        self._complained = False

    def add(self, event: Event) -> None:
        """An event has happened."""
        self._news.put(event.seq)

    @contextmanager
    def ending_by_signal(self) -> Iterator[None]:
        """In here, Ctrl-C and a plain kill are wishes: what was opened is closed. The second Ctrl-C is meant."""

        def wish(number: int, frame: object) -> None:
            self._over = True
            self._news.put(0)
            signal.signal(number, signal.default_int_handler)

        before = {number: signal.signal(number, wish) for number in _stopping()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def follow(self, playground: Playground, console: Console | None, by: Redactor) -> None:
        """Until somebody stops it."""
        while not self._over:
            try:
                seq = self._news.get(timeout=LOOK_EVERY)
            except queue.Empty:
                self._look_after(playground)
                continue
            if seq and console is not None:
                print_event(console, by.event(orjson.loads(playground.log.lines[seq - 1])))
        self._look_after(playground)

    def _look_after(self, playground: Playground) -> None:
        if playground.broken is not None and not self._complained:
            self._complained = True
            err().print(f"[fail]✗ broken, and not by the agent:[/] {escape(playground.broken)}; stop it and start anew")


def _stopping() -> list[int]:
    """The signals that stop it: Ctrl-C, a plain kill, and a terminal that is closed unless that is not to matter."""
    hang_up = getattr(signal, "SIGHUP", None)  # not everywhere
    matters = hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([hang_up] if hang_up is not None and matters else [])]


def print_play(console: Console, play: Play) -> None:
    """Where everything is, with lines to paste."""
    environment = play.playground.environment
    about = f"{play.playground.started_at:%Y-%m-%d %H:%M:%S} UTC, {environment.time}  seed {play.seed}"
    _print(console, f"[bold]{escape(environment.name)}[/] is up  [quiet]{about}[/]")
    if play.task is not None:
        _print(console, f"[quiet]task[/]  {escape(play.task.name)}")
    if play.task_item is not None:
        told = orjson.dumps(play.task_item, option=orjson.OPT_INDENT_2).decode()
        _print(console, f"[quiet]the agent is told[/]  {escape(told)}")
    for name, way in play.sandboxes.items():
        _print_way(console, name, way)
    _print_way(console, "clock", play.clock, "any sandbox's")
    console.print()
    for what, line in _commands(play).items():
        _print(console, f"[quiet]{what:<7}[/]{escape(line)}")
    console.print()


def _print_way(console: Console, name: str, way: Way, token: str = "") -> None:
    kind = f"  [quiet]{way.kind}[/]" if way.kind != name else ""
    console.print()
    _print(console, f"[place]{name}[/]{kind}  {escape(way.url)}")
    _print(console, f"  [quiet]token[/]  {escape(token or way.token)}")
    if way.curl:
        _print(console, f"  {escape(way.curl)}")
    for line, told in (*way.credentials.items(), *way.lines.items()):
        parts = ", ".join(f"{key} {_brief(value)}" for key, value in told.items())
        _print(console, f"  [quiet]{line}[/]  {escape(parts)}")
    for line, how in way.missing.items():
        _print(console, f"  [quiet]{line}[/]  not here: {escape(how)}")
    for example in way.examples:
        _print(console, f"  {escape(example)}")


def _brief(value: str | int) -> str:
    """A key of many lines is not for the eye: it is in `--json`."""
    return f"({len(value.splitlines())} lines, see --json)" if isinstance(value, str) and "\n" in value else str(value)


def _print(console: Console, markup: str) -> None:
    console.print(markup, soft_wrap=True)  # what is to be pasted must not be broken


def _commands(play: Play) -> dict[str, str]:
    """What to type in a second terminal."""
    which = "" if play.alone else f" --name {shlex.quote(play.where.name)}"
    return {
        "events": f"{program()} events --follow{which}",
        "check": f"{program()} check{' TASK' if play.task is None else ''}{which}",
        "stop": f"Ctrl-C, or kill {play.where.pid}",
    }


def _document(play: Play) -> dict[str, Any]:
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
