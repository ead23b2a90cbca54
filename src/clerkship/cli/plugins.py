"""`clerkship plugins`: what is installed beside us, what it brings, and what is broken."""

import typer
from rich.markup import escape

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.plugin_loading.load import BrokenPlugin, LoadedPlugin


def plugins(json: Json = False) -> None:
    """List the plug-ins that are installed: the names each brings, or why it is broken.

    A broken one breaks nothing else. Exit code: 0 all can be used · 2 one is broken. `CLERKSHIP_PLUGINS=off` turns all
    of them off.
    """
    catalog = RegisteredCatalog()
    both: list[LoadedPlugin | BrokenPlugin] = [*catalog.plugins, *catalog.broken]
    found = sorted(both, key=lambda plugin: (plugin.prefix, plugin.package))
    if json:
        print_json({"plugins": [_data(plugin) for plugin in found]})
    else:
        _show(found)
    raise typer.Exit(2 if catalog.broken else 0)


def _brings(plugin: LoadedPlugin) -> dict[str, list[str]]:
    sorts = dict.fromkeys(claim.kind for claim in plugin.claims)
    return {f"{sort}s": [claim.name for claim in plugin.claims if claim.kind == sort] for sort in sorts}


def _data(plugin: LoadedPlugin | BrokenPlugin) -> dict[str, object]:
    about = {"prefix": plugin.prefix, "package": plugin.package, "version": plugin.version}
    return about | ({"broken": plugin.reason} if isinstance(plugin, BrokenPlugin) else {"brings": _brings(plugin)})


def _show(found: list[LoadedPlugin | BrokenPlugin]) -> None:
    console = out()
    if not found:
        console.print("[quiet]no plug-in is installed, or they are turned off[/]")
    for plugin in found:
        about = f"[bold]{escape(plugin.prefix)}[/]  {escape(plugin.package)} {escape(plugin.version)}"
        if isinstance(plugin, BrokenPlugin):
            console.print(f"[fail]✗[/] {about}\n    {escape(plugin.reason)}", soft_wrap=True)
            continue
        console.print(f"[pass]✓[/] {about}")
        for sort, names in _brings(plugin).items():
            console.print(f"    [quiet]{sort}[/] {escape(', '.join(names))}", soft_wrap=True)
