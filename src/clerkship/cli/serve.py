"""`clerkship serve`: a server with a REST interface; `clerkship keys`: its keys, without the server."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out, plain_table, print_json, print_json_line, print_warning, text_column
from clerkship.cli.options import Json
from clerkship.kit.extras import describe_install, is_installed
from clerkship.model.errors import InputError, InputProblem, MissingExtra
from clerkship.model.server_objects import ApiKey, NewApiKey
from clerkship.service.serving.database import ListRequest
from clerkship.service.serving.keys import KeyTable, parse_expiry
from clerkship.service.serving.server import Server, open_database, open_server
from clerkship.settings import Settings, load_settings, override_settings

EXTRA = "server"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PAGE = ListRequest(1000)
Data = Annotated[
    Path | None, typer.Option("--data", metavar="FOLDER", help="Folder of the server. [default: .clerkship/server]")
]


def serve(
    *,
    data: Data = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Port; 0 for a free one. [default: 8720]")
    ] = None,
    sandbox_port: Annotated[
        int | None,
        typer.Option("--sandbox-port", min=0, max=65_535, help="Port of the sandboxes. [default: a free one]"),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option("--public-url", metavar="URL", help="Address under which clients reach it, if it is another one."),
    ] = None,
    root_path: Annotated[
        str | None,
        typer.Option("--root-path", metavar="PATH", help="Prefix that a proxy adds. [default: that of --public-url]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON when it is ready.")] = False,
) -> None:
    """Serve tasks and runs by REST, for agents that hold a key.

    The first start creates the folder, and prints the key of a person, once. Standard error has one line of JSON for
    each request. Ctrl-C or SIGTERM stops it; requests under way are finished. It needs the extra `clerkship[server]`.

    Exit codes: 0 stopped, 2 it could not be started.

    Examples:

        clerkship serve

        clerkship serve --data /srv/clerkship --port 8720 --public-url https://tests.example.org/clerkship
    """
    if not is_installed(EXTRA):
        raise MissingExtra(f"`clerkship serve` needs the extra `{EXTRA}`; install it with {describe_install(EXTRA)}")
    settings = override_settings(
        load_settings(),
        server_data=data,
        server_host=host,
        server_port=port,
        server_sandbox_port=sandbox_port,
        server_public_url=public_url,
        server_root_path=root_path,
    )
    with _listen(settings) as listening:
        server = open_server(settings.server_data, settings, build_catalog())
        try:
            server.url = settings.server_public_url.rstrip("/") or _describe_address(listening)
            announce = partial(_print_start, server, json=json)
            load("clerkship.api.serving:run_server")(server, listening, _find_root_path(settings), announce)
        finally:
            server.close()
    if not json:
        out().print("[quiet]stopped[/]")


def _listen(settings: Settings) -> socket.socket:
    """Listen on the address of the settings. Raise InputError if that is impossible."""
    host, port = settings.server_host, settings.server_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        message = f"cannot listen on port {port} of {host}: {reason}"
        raise InputError.of(message, hint="choose another one with --port, or --port 0 for a free one") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so only for sockets of its own
    return listening


def _describe_address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _find_root_path(settings: Settings) -> str:
    """Return the prefix of paths, without a slash at its end."""
    path = settings.server_root_path or urlsplit(settings.server_public_url).path
    return f"/{path.strip('/')}" if path.strip("/") else ""


def _print_start(server: Server, *, json: bool) -> None:
    """Print the address, and the key of a person if there was no key at all."""
    settings, console = server.settings, out()
    is_first = not server.keys.list(ListRequest(1)).items
    new = server.keys.create_person("first key") if is_first else None
    if settings.server_host not in LOOPBACK and not settings.server_public_url.startswith("https://"):
        hint = "put a proxy with TLS before it, and name its address with --public-url"
        message = f"it listens on {settings.server_host}, and requests with their keys are not encrypted"
        print_warning(InputProblem(message=message, hint=hint), err())
    if json:
        print_json_line({"url": server.url, "data": str(server.folder), "key": new.key if new else None})
        return
    console.print(f"[bold]Clerkship[/] serves [place]{escape(server.url)}[/]", soft_wrap=True)
    console.print(f"[quiet]data[/]  {escape(str(server.folder))}", soft_wrap=True)
    if new is not None:
        console.print(f"[quiet]key[/]   {new.key}  [quiet]keep it: it is not shown again[/]", soft_wrap=True)
    elif not server.keys.has_valid_person():
        console.print(
            "[partial]![/] no key of a person is valid; create one: clerkship keys create NAME", soft_wrap=True
        )
    console.print("[quiet]stop[/]  Ctrl-C", soft_wrap=True)


def create(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    *,
    data: Data = None,
    solver: Annotated[str | None, typer.Option("--solver", metavar="ID", help="Create a key of this solver.")] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="When it expires, such as 2027-01-31T12:00:00Z.")
    ] = None,
    json: Json = False,
) -> None:
    """Create a key for a server. It is printed once.

    The server may run or not. With --solver it is the key of an agent, otherwise that of a person, who may do
    everything.

    Exit codes: 0 done, 2 invalid input.

    Examples:

        clerkship keys create "Ada"
    """
    until = parse_expiry(expires)
    with _open_keys(data) as keys:
        new: NewApiKey = keys.create_solver_key(solver, name, until) if solver else keys.create_person(name, until)
    if json:
        print_json(new)
    else:
        out().print(f"{new.key}  [quiet]{new.id}; keep it: it is not shown again[/]", soft_wrap=True)


def list_keys(*, data: Data = None, json: Json = False) -> None:
    """List the keys of a server, newest first, without their secrets.

    Exit codes: 0, or 2 if there is no such server.

    Examples:

        clerkship keys list
    """
    with _open_keys(data) as opened:
        keys = opened.list(_PAGE).items
    if json:
        print_json(keys)
        return
    table = plain_table(*map(text_column, ("id", "kind", "name", "key", "status")))
    for key in keys:
        table.add_row(key.id, key.kind, escape(key.name), f"{key.prefix}…{key.suffix}", _describe_status(key))
    out().print(table)


def _describe_status(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    return f"until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else "valid"


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `keys list` shows it.")],
    *,
    data: Data = None,
    json: Json = False,
) -> None:
    """Revoke a key of a server: it is not valid from now on, also if the server runs.

    Exit codes: 0 done, 2 there is no such key.

    Examples:

        clerkship keys revoke key_0123456789abcdef
    """
    with _open_keys(data) as keys:
        key = keys.revoke(key_id)
    if json:
        print_json(key)
    else:
        out().print(f"[pass]✓[/] {key.id} is not valid any more")


@contextmanager
def _open_keys(data: Path | None) -> Iterator[KeyTable]:
    folder = data or load_settings().server_data
    if not (folder / "server.db").exists():
        raise InputError.of(f"there is no server in {folder}", hint="start it: clerkship serve; or name it with --data")
    database = open_database(folder)
    try:
        yield KeyTable(database)
    finally:
        database.close()
