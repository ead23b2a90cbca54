"""`clerkship monitors`: the checks that run on every task."""

import inspect

from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.sandbox.monitor import Monitor


def monitors(json: Json = False) -> None:
    """List the monitors: checks that run on every task, whatever its criteria say.

    A monitor warns, unless `monitors: gate` in an environment, a task or `setup` of a scenario file lets it fail the
    trial. It runs if the environment has one of the kinds of simulator that it looks at.
    """
    found = [monitor for _, monitor in build_catalog().monitors.items()]
    if json:
        print_json({"monitors": [_to_json_data(monitor) for monitor in found]})
        return
    for monitor in found:
        kinds = ", ".join(sorted(monitor.kinds)) or "every kind but chat"
        out().print(f"[bold]{escape(monitor.name)}[/]  [quiet]{monitor.axis} · {escape(kinds)}[/]", soft_wrap=True)
        out().print(f"    {escape(_describe(monitor))}", soft_wrap=True)


def _to_json_data(monitor: type[Monitor]) -> dict[str, object]:
    return {
        "name": monitor.name,
        "axis": monitor.axis,
        "kinds": sorted(monitor.kinds),
        "label": monitor.label,
        "description": _describe(monitor),
    }


def _describe(monitor: type[Monitor]) -> str:
    return " ".join((inspect.getdoc(monitor) or "").split())
