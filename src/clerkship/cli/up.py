"""`clerkship up`: a playground that stays up, for developing an agent."""

import queue
import shlex
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out, print_json_line, print_warning
from clerkship.cli.event_line import print_event
from clerkship.cli.groups import grouped
from clerkship.events.event import Event
from clerkship.kit.stop_signals import handle_stop_signals
from clerkship.kit.zone import format_named
from clerkship.model.environment import utc_offset_minutes
from clerkship.model.errors import InputProblem
from clerkship.model.redaction import Redactor
from clerkship.playground.playground import Playground
from clerkship.sandbox.mcp_access import McpAddress, list_mcp_variables
from clerkship.service.mcp_clients import describe_clients
from clerkship.service.network import describe_protection, describe_reach
from clerkship.service.up import (
    PlaygroundRequest,
    RunningPlayground,
    SandboxAccess,
    open_playground,
)
from clerkship.settings import get_command_prefix, load_settings

POLL_SECONDS = 0.2


@grouped
def up(
    *,
    request: PlaygroundRequest,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON and no events.")] = False,
) -> None:
    """Start a playground that stays up, for developing an agent.

    Prints the address and token of each sandbox, then every event. With --task, it sets up the task as a run would:
    steps, scheduled steps and the person. In the same folder, `clerkship events` prints the log and `clerkship check`
    grades the task so far. Ctrl-C or SIGTERM stops it; nothing is stored.

    Exit codes: 0 stopped, 2 it could not be started.

    Examples:

        clerkship up clinic --from suites/clinic

        clerkship up --from suites/clinic --task "Move an appointment" --port 8080

        clerkship up --from suites/feeds --listener mllp=2575 --listener sftp=2222

        clerkship up --from suites/clinic --host 0.0.0.0 --port 8080
    """
    run_playground(request, json=json)


def run_playground(request: PlaygroundRequest, *, json: bool = False) -> None:
    """Start a playground, print how to reach it and its events, and stop it on a signal."""
    printer = EventPrinter()
    with printer.stop_on_signal(), open_playground(request, load_settings(), build_catalog(), printer.add) as running:
        if running.network.is_exposed:
            print_warning(describe_exposure(running), err())
        if json:
            print_json_line(_to_json_data(running))
        else:
            print_playground(out(), running)
        printer.follow(running.playground, None if json else out(), running.redactor)
    if not json:
        out().print(f"[quiet]stopped after {len(running.playground.log.events)} events; nothing is stored[/]")


def describe_exposure(running: RunningPlayground) -> InputProblem:
    """Return the warning about a playground that does not listen on loopback."""
    sandboxes = running.playground.sandboxes.values()
    listeners = [listener for sandbox in sandboxes for listener in sandbox.spec.listeners]
    hint = "; ".join(describe_protection(running.network, listeners))
    return InputProblem(message=f"{describe_reach(running.network)} it", hint=hint)


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

    def stop_on_signal(self) -> AbstractContextManager[None]:
        """Stop cleanly on Ctrl-C, SIGTERM or SIGHUP inside this context; a second one interrupts."""
        return handle_stop_signals(self._stop)

    def _stop(self) -> None:
        self._is_stopped = True
        self._new_events.put(0)

    def follow(self, playground: Playground, console: Console | None, redactor: Redactor) -> None:
        """Print events until it is stopped."""
        offset = utc_offset_minutes(playground.environment.now)
        while not self._is_stopped:
            try:
                seq = self._new_events.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self._report_error(playground)
                continue
            if seq and console is not None:
                print_event(console, redactor.event(orjson.loads(playground.log.lines[seq - 1])), offset)
        self._report_error(playground)

    def _report_error(self, playground: Playground) -> None:
        if playground.broken is not None and not self._has_reported_error:
            self._has_reported_error = True
            err().print(f"[fail]✗ platform error:[/] {escape(playground.broken)}; stop it and start again")


def print_playground(console: Console, running: RunningPlayground) -> None:
    """Print the address of each sandbox, with commands to paste."""
    environment = running.playground.environment
    started = format_named(running.playground.started_at, utc_offset_minutes(environment.now))
    details = f"{started}, {environment.time}  seed {running.seed}"
    _print(console, f"[bold]{escape(environment.name)}[/] is up  [quiet]{details}[/]")
    if running.task is not None:
        _print(console, f"[quiet]task[/]  {escape(running.task.name)}")
    if running.task_item is not None:
        item = orjson.dumps(running.task_item, option=orjson.OPT_INDENT_2).decode()
        _print(console, f"[quiet]task item[/]  {escape(item)}")
    for name, access in running.sandboxes.items():
        _print_access(console, name, access)
    _print_access(console, "clock", running.clock, "any sandbox's")
    _print_mcp(console, running.mcp)
    console.print()
    for name, value in _list_variables(running).items():
        _print(console, f"export {name}={shlex.quote(value)}")
    console.print()
    for label, line in _commands(running).items():
        _print(console, f"[quiet]{label:<7}[/]{escape(line)}")
    console.print()


def _print_access(console: Console, name: str, access: SandboxAccess, token: str = "") -> None:
    kind = f"  [quiet]{access.kind}[/]" if access.kind != name else ""
    console.print()
    _print(console, f"[place]{name}[/]{kind}  {escape(access.url)}")
    _print(console, f"  [quiet]token[/]  {escape(token or access.token)}")
    if access.curl:
        _print(console, f"  {escape(access.curl)}")
    for protocol, connection in (*access.credentials.items(), *access.listeners.items()):
        parts = ", ".join(f"{key} {_shorten(value)}" for key, value in connection.items())
        _print(console, f"  [quiet]{protocol}[/]  {escape(parts)}")
    for protocol, reason in access.missing.items():
        _print(console, f"  [quiet]{protocol}[/]  not available: {escape(reason)}")
    for example in access.examples:
        _print(console, f"  {escape(example)}")


def _print_mcp(console: Console, address: McpAddress) -> None:
    console.print()
    _print(console, f"[place]mcp[/]  {escape(address.url)}")
    _print(console, f"  [quiet]token[/]  {escape(address.token)}")
    for client, configuration in describe_clients(address, get_command_prefix()).items():
        _print(console, f"  [quiet]{client}[/]  {escape(configuration)}")


def _list_variables(running: RunningPlayground) -> dict[str, str]:
    """Return the environment variables from which an agent reads its addresses."""
    return running.variables | list_mcp_variables(running.mcp)


def _shorten(value: str | int) -> str:
    """Return a value, or a note that a text of several lines is in `--json`."""
    return f"({len(value.splitlines())} lines, see --json)" if isinstance(value, str) and "\n" in value else str(value)


def _print(console: Console, markup: str) -> None:
    console.print(markup, soft_wrap=True)  # commands to paste must stay on one line


def _commands(running: RunningPlayground) -> dict[str, str]:
    """Return the commands for a second terminal."""
    name_option = "" if running.alone else f" --name {shlex.quote(running.where.name)}"
    return {
        "events": f"{get_command_prefix()} events --follow{name_option}",
        "check": f"{get_command_prefix()} check{' TASK' if running.task is None else ''}{name_option}",
        "stop": f"Ctrl-C, or kill {running.where.pid}",
    }


def _to_json_data(running: RunningPlayground) -> dict[str, Any]:
    environment = running.playground.environment
    return {
        "name": running.where.name,
        "playground": running.where.playground,
        "environment": environment.name,
        "now": running.playground.started_at,
        "time": environment.time,
        "seed": running.seed,
        "task": running.task.name if running.task is not None else None,
        "task_item": running.task_item,
        "url": running.url,
        "host": running.network.host,
        "sandboxes": {name: asdict(access) for name, access in running.sandboxes.items()},
        "clock": asdict(running.clock),
        "mcp": {**running.mcp._asdict(), "clients": describe_clients(running.mcp, get_command_prefix())},
        "variables": _list_variables(running),
        "commands": _commands(running),
        "pid": running.where.pid,
    }
