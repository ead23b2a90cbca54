"""`clerkship agents`: the kinds of agents, and which programs are on this machine."""

from typing import Any

from rich.markup import escape
from rich.table import Column

from clerkship.actors.agent_kinds import AGENT_KINDS, AgentKind
from clerkship.actors.installed.agent import PROGRAMS
from clerkship.actors.installed.program import CodingProgram, find_program, is_logged_in
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, plain_table, print_json, text_column
from clerkship.cli.options import Json
from clerkship.model.errors import InputError
from clerkship.settings import Settings, load_settings


def agents(json: Json = False) -> None:
    """List the kinds of agents, and which of the programs among them are on this machine.

    A program is started to read its version, and to find out whether its user is logged in.
    """
    settings, built_in = load_settings(), {kind.name for kind in AGENT_KINDS} | {"https"}
    added = [
        AgentKind((name,), f"of the plug-in {owner.package}")
        for name, owner in ((name, build_catalog().owner("agent", name)) for name in build_catalog().agents)
        if name not in built_in and owner is not None
    ]
    rows = [_describe(kind, settings) for kind in (*AGENT_KINDS, *added)]
    if json:
        print_json(rows)
        return
    table = plain_table(Column("--agent", no_wrap=True), text_column("agent"))
    for row in rows:
        table.add_row(escape(", ".join(row["forms"])), escape(row["description"]) + _render_program(row))
    out().print(table)


def _describe(kind: AgentKind, settings: Settings) -> dict[str, Any]:
    row: dict[str, Any] = {"name": kind.name, **kind._asdict()}
    program = PROGRAMS.get(kind.name)
    return row if program is None else row | {"program": _describe_program(program, settings)}


def _describe_program(program: CodingProgram, settings: Settings) -> dict[str, Any]:
    """Return the version and the credentials of a program, or why it cannot be used."""
    try:
        found = find_program(program)
    except InputError as error:
        return {"command": program.command, "problem": str(error).removeprefix(f"agent {program.name}: ")}
    has_key = bool(getattr(settings, f"{program.provider}_api_key"))
    login = "key" if has_key else "login" if is_logged_in(program, found.path) else None
    return {"command": program.command, "path": found.path, "version": found.version_text, "credentials": login}


def _render_program(row: dict[str, Any]) -> str:
    program = row.get("program")
    if program is None:
        return ""
    if "problem" in program:
        return f"\n[quiet]{escape(program['problem'])}[/]"
    words = {"key": "its provider's key is set", "login": "logged in", None: "no key, and not logged in"}
    return f"\n[pass]{program['version']}[/] [quiet]{escape(program['path'])}, {words[program['credentials']]}[/]"
