"""`clerkship dataset show`: what is in a dataset, those of a type, or one resource of it."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.cli.catalog import registered
from clerkship.cli.console import out, print_json, print_warning
from clerkship.cli.options import Json
from clerkship.fhir import exact
from clerkship.service.datasets import DatasetView, find_dataset
from clerkship.service.generating import parse_now
from clerkship.settings import load_settings

MOST_LISTED = 200
MOST_FOUND = 50


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_PATH",
            help="A dataset that ships; or a Bundle, an NDJSON file or a folder of them; or YAML that defines one, "
            "`path::name` where it defines several.",
        ),
    ],
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[TYPE/ID|TYPE|TYPE?QUERY]",
            help="One resource of it, whole; or those of a type, all or what a search finds.",
        ),
    ] = None,
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="Of one that ships: the time it is made up around.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what is in a dataset: how many of each type, its hash, its patients; or resources of it.

    It is read and checked as a run reads it: mistakes are listed with file and line, and the exit code is 2 then.

    Examples:

        clerkship dataset show clinic-100

        clerkship dataset show clinic-100 Patient/pat-0003

        clerkship dataset show clinic-100 Coverage

        clerkship dataset show clinic-100 'Observation?patient=pat-0003&_sort=-date'

        clerkship dataset show suites/mine/data
    """
    view = find_dataset(name, load_settings(), registered(), parse_now(now) if now is not None else None)
    if what is not None and "/" in what.partition("?")[0]:
        _show_resource(view, what, json=json)
    elif what is not None:
        _show_found(view, view.found(what), json=json)
    elif json:
        print_json(view.data())
    else:
        _show(out(), view)


def _show_resource(view: DatasetView, key: str, *, json: bool) -> None:
    resource = view.resource(key)
    if json:
        out().print(exact.dumps(resource).decode(), markup=False, highlight=False, soft_wrap=True)
        return
    out().print(_indented(resource), markup=False, highlight=False, soft_wrap=True)


def _show_found(view: DatasetView, keys: list[str], *, json: bool) -> None:
    if json:
        print_json({"count": len(keys), "resources": keys})
        return
    for line in view.titles(keys[:MOST_FOUND]):
        out().print(escape(line), soft_wrap=True)
    more = len(keys) - MOST_FOUND
    if not keys or more > 0:
        out().print(f"[quiet]… and {more:,} more[/]" if keys else "[quiet]it finds none[/]")


def _indented(data: Any, depth: int = 0) -> str:
    """As people read JSON, with every digit as it was written, and keys in the order of the dataset."""
    inner, end = "  " * (depth + 1), "  " * depth
    if isinstance(data, dict) and data:
        rows = ",\n".join(f"{inner}{_indented(key)}: {_indented(value, depth + 1)}" for key, value in data.items())
        return f"{{\n{rows}\n{end}}}"
    if isinstance(data, list) and data:
        rows = ",\n".join(f"{inner}{_indented(item, depth + 1)}" for item in data)
        return f"[\n{rows}\n{end}]"
    return exact.dumps(data).decode()


def _show(console: Console, view: DatasetView) -> None:
    for warning in view.warnings:
        print_warning(warning, console)
    counts = view.counts()
    console.print(f"[bold]{escape(view.dataset.name)}[/]  {view.dataset.type}  [quiet]{view.dataset.hash}[/]")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for type, count in counts.items():
        table.add_row(f"{count:,}", escape(type))
    console.print(table)
    patients = view.patients() if view.dataset.type == "fhir" else []
    if patients:
        console.print()
    for line in patients[:MOST_LISTED]:
        console.print(escape(line), soft_wrap=True)
    if len(patients) > MOST_LISTED:
        console.print(f"[quiet]… and {len(patients) - MOST_LISTED:,} more patients[/]")
