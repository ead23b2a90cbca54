"""`clerkship plugins`: the installed plug-ins."""

import typer
from rich.markup import escape

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.plugin_loading import BrokenPlugin, LoadedPlugin


def plugins(json: Json = False) -> None:
    """List installed plug-ins with the names they add, or the reason why one is broken.

    A broken plug-in does not affect anything else. `CLERKSHIP_PLUGINS=off` disables all plug-ins.

    Exit codes: 0 all plug-ins work, 2 one is broken.
    """
    catalog = RegisteredCatalog()
    unsorted: list[LoadedPlugin | BrokenPlugin] = [*catalog.plugins, *catalog.broken]
    installed = sorted(unsorted, key=lambda plugin: (plugin.prefix, plugin.package))
    if json:
        print_json({"plugins": [_to_json_data(plugin) for plugin in installed]})
    else:
        _print_plugins(installed)
    raise typer.Exit(2 if catalog.broken else 0)


def _names_by_kind(plugin: LoadedPlugin) -> dict[str, list[str]]:
    kinds = dict.fromkeys(claim.kind for claim in plugin.claims)
    return {f"{kind}s": [claim.name for claim in plugin.claims if claim.kind == kind] for kind in kinds}


def _to_json_data(plugin: LoadedPlugin | BrokenPlugin) -> dict[str, object]:
    data = {"prefix": plugin.prefix, "package": plugin.package, "version": plugin.version}
    return data | (
        {"broken": plugin.reason} if isinstance(plugin, BrokenPlugin) else {"brings": _names_by_kind(plugin)}
    )


def _print_plugins(installed: list[LoadedPlugin | BrokenPlugin]) -> None:
    console = out()
    if not installed:
        console.print("[quiet]no plug-ins are installed, or they are disabled[/]")
    for plugin in installed:
        title = f"[bold]{escape(plugin.prefix)}[/]  {escape(plugin.package)} {escape(plugin.version)}"
        if isinstance(plugin, BrokenPlugin):
            console.print(f"[fail]✗[/] {title}\n    {escape(plugin.reason)}", soft_wrap=True)
            continue
        console.print(f"[pass]✓[/] {title}")
        for kind, names in _names_by_kind(plugin).items():
            console.print(f"    [quiet]{kind}[/] {escape(', '.join(names))}", soft_wrap=True)
