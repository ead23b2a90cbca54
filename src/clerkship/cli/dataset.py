"""`clerkship dataset`: show and generate datasets."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out, plain_table, print_json, print_more, print_warning
from clerkship.cli.options import Json
from clerkship.cli.progress import ProgressBar
from clerkship.formats.fhir import exact
from clerkship.service.datasets import DatasetView, find_dataset
from clerkship.service.generating import (
    GeneratedDataset,
    GenerateRequest,
    OutputTarget,
    generate_dataset,
    parse_now,
    save_dataset,
)
from clerkship.settings import load_settings
from clerkship.suite_files.synthetic.version import DEFAULT_NOW, GENERATOR_VERSION, MAX_PATIENTS

MAX_PATIENTS_LISTED = 200
MAX_MATCHES = 50


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME_OR_PATH",
            help="A built-in dataset; a Bundle, an NDJSON file or a folder of them; or YAML that defines one "
            "(`path::name` if it defines several).",
        ),
    ],
    selection: Annotated[
        str | None,
        typer.Argument(
            metavar="[TYPE/ID|TYPE|TYPE?QUERY]",
            help="A resource, or the resources of a type, all or those that match a search.",
        ),
    ] = None,
    now: Annotated[str | None, typer.Option(metavar="TIME", help="For a built-in dataset: its `now`.")] = None,
    json: Json = False,
) -> None:
    """Show the contents of a dataset, or resources of it.

    It prints the number of resources of each type, the hash and the patients. The dataset is validated as in a run:
    mistakes are listed with file and line, and the exit code is 2.

    Examples:

        clerkship dataset show clinic-100

        clerkship dataset show clinic-100 Patient/pat-0003

        clerkship dataset show clinic-100 Coverage

        clerkship dataset show clinic-100 'Observation?patient=pat-0003&_sort=-date'

        clerkship dataset show suites/mine/data
    """
    view = find_dataset(name, load_settings(), build_catalog(), parse_now(now) if now is not None else None)
    if selection is not None and "/" in selection.partition("?")[0]:
        _show_resource(view, selection, json=json)
    elif selection is not None:
        _show_matches(view, view.find_keys(selection), json=json)
    elif json:
        print_json(view.data())
    else:
        _print_dataset(out(), view)


def _show_resource(view: DatasetView, key: str, *, json: bool) -> None:
    resource = view.resource(key)
    if json:
        out().print(exact.dumps(resource).decode(), markup=False, highlight=False, soft_wrap=True)
        return
    out().print(_render_indented(resource), markup=False, highlight=False, soft_wrap=True)


def _show_matches(view: DatasetView, keys: list[str], *, json: bool) -> None:
    if json:
        print_json({"count": len(keys), "resources": keys})
        return
    for line in view.titles(keys[:MAX_MATCHES]):
        out().print(escape(line), soft_wrap=True)
    if not keys:
        out().print("[quiet]no matches[/]")
    print_more(out(), len(keys) - MAX_MATCHES)


def _render_indented(data: Any, depth: int = 0) -> str:
    """Return indented JSON, with numbers as they are written and keys in the order of the dataset."""
    inner, end = "  " * (depth + 1), "  " * depth
    if isinstance(data, dict) and data:
        rows = ",\n".join(
            f"{inner}{_render_indented(key)}: {_render_indented(value, depth + 1)}" for key, value in data.items()
        )
        return f"{{\n{rows}\n{end}}}"
    if isinstance(data, list) and data:
        rows = ",\n".join(f"{inner}{_render_indented(item, depth + 1)}" for item in data)
        return f"[\n{rows}\n{end}]"
    return exact.dumps(data).decode()


def _print_dataset(console: Console, view: DatasetView) -> None:
    for warning in view.warnings:
        print_warning(warning, console)
    console.print(f"[bold]{escape(view.dataset.name)}[/]  {view.dataset.type}  [quiet]{view.dataset.hash}[/]")
    table = Table(Column(justify="right"), Column(), box=None, pad_edge=False, show_header=False)
    for type, count in view.counts().items():
        table.add_row(f"{count:,}", escape(type))
    console.print(table)
    patients = view.patients() if view.dataset.type == "fhir" else []
    if patients:
        console.print()
    for line in patients[:MAX_PATIENTS_LISTED]:
        console.print(escape(line), soft_wrap=True)
    print_more(console, len(patients) - MAX_PATIENTS_LISTED, " patients")


def generate(
    patients: Annotated[
        int, typer.Option("--patients", "-n", metavar="N", help="Number of patients.", min=0, max=MAX_PATIENTS)
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random choices.")] = 7,
    now: Annotated[
        str | None,
        typer.Option(
            "--now",
            metavar="TIME",
            help=f"Time that all dates are relative to, with its zone. [default: {DEFAULT_NOW.isoformat()}]",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE|FOLDER/",
            help="A file, a folder for one file per type, or - for standard output (the default).",
        ),
    ] = None,
    bundle: Annotated[
        bool,
        typer.Option("--bundle", help="Write one FHIR Bundle of type collection instead of one line per resource."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    json: Json = False,
) -> None:
    """Generate FHIR R4 charts of synthetic patients.

    There are a clinic, a hospital, a laboratory and four payers. Each patient has visits, conditions, matching drugs,
    laboratory results, vital signs, vaccines, referrals, notes, insurance, appointments and claims. Some patients
    resemble each other on purpose: `--json` lists them.

    The same `--patients`, `--seed` and `--now` give the same bytes on every machine. The built-in dataset `clinic-100`
    is `--patients 100 --seed 7`. The data does not represent real people or real epidemiology.

    Examples:

        clerkship dataset generate --patients 1000 --seed 7 --out valley.ndjson

        clerkship dataset generate --now 2026-06-15T08:00:00-04:00 --out valley/

        clerkship dataset generate -n 5 | jq .resourceType
    """
    request = GenerateRequest(patients, seed, parse_now(now) if now is not None else DEFAULT_NOW)
    target = OutputTarget.parse(to, bundle=bundle) if to not in (None, "-") else None
    if target is not None and not force:
        target.check_free()
    with PatientProgress(err(), patients, quiet=json) as progress:
        dataset = generate_dataset(request, progress)
    if target is None:
        _write_to_stdout(dataset, bundle=bundle, json=json)
        return
    files = save_dataset(dataset, target)
    if json:
        print_json(_summary(dataset) | {"files": files})
    else:
        _print_generated(dataset, files, out())


class PatientProgress(ProgressBar):
    """Show a progress bar over patients on a terminal, and nothing elsewhere."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        super().__init__(console, total, quiet=quiet or total < 200)

    def status_text(self) -> str:
        return "[quiet]patients[/]"

    def __call__(self, number: int) -> None:
        """Count one patient."""
        self.advance()


def _write_to_stdout(dataset: GeneratedDataset, *, bundle: bool, json: bool) -> None:
    """Write the data to standard output, and messages to standard error."""
    if json:
        print_json(_summary(dataset))
        return
    for piece in dataset.bundle() if bundle else dataset.ndjson():
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    if err().is_terminal:
        _print_generated(dataset, [], err())


def _summary(dataset: GeneratedDataset) -> dict[str, object]:
    return {
        "patients": dataset.request.patients,
        "seed": dataset.request.seed,
        "now": dataset.request.now.isoformat(),
        "generator": GENERATOR_VERSION,
        "resources": len(dataset.lines),
        "sha256": dataset.digest,
        "types": dataset.counts,
        "look_alikes": dataset.look_alikes,
    }


def _print_generated(dataset: GeneratedDataset, files: list[Path], console: Console) -> None:
    table = plain_table(Column("type"), Column("resources", justify="right"))
    for type, count in dataset.counts.items():
        table.add_row(type, f"{count:,}")
    table.add_row("[bold]all[/]", f"[bold]{len(dataset.lines):,}[/]")
    console.print(table)
    pairs = len(dataset.look_alikes)
    console.print(
        f"\n[quiet]sha256[/] {dataset.digest} [quiet](as NDJSON, generator {GENERATOR_VERSION})[/]", soft_wrap=True
    )
    console.print(f"[quiet]{pairs} pair{'s' * (pairs != 1)} of similar patients: --json lists them[/]")
    for path in files[:3]:
        console.print(f"[pass]+[/] {escape(str(path))}", soft_wrap=True)
    if len(files) > 3:
        console.print(f"[quiet]  and {len(files) - 3} more[/]")
