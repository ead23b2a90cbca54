"""`clerkship dataset generate`: a dataset of synthetic patients."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.cli.console import err, out, print_json
from clerkship.cli.options import Json
from clerkship.cli.progress import Gauge
from clerkship.service.generating import (
    Generated,
    GenerateRequest,
    Place,
    generate_dataset,
    parse_now,
    save,
)
from clerkship.synthetic import MOST, NOW


def generate(
    patients: Annotated[int, typer.Option("--patients", "-n", metavar="N", help="How many.", min=0, max=MOST)] = 100,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed makes the same valley.")] = 7,
    now: Annotated[
        str | None,
        typer.Option(
            "--now",
            metavar="TIME",
            help=f"When it is in the valley, with its zone; every date is around it. [default: {NOW.isoformat()}]",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE|FOLDER/",
            help="Where to: a file, a folder for a file per type, or - for standard output, as without it.",
        ),
    ] = None,
    bundle: Annotated[
        bool, typer.Option("--bundle", help="One FHIR Bundle of the type collection, not a line per resource.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    json: Json = False,
) -> None:
    """Make charts of synthetic patients: FHIR R4, clinically plausible, from newborn to very old, healthy to frail.

    A clinic, a hospital, a laboratory and four payers; for each patient visits, conditions, drugs that fit them, labs
    and vital signs over time, vaccines, referrals, notes to read, insurance, appointments and claims; free slots for
    the next four weeks. Some patients are namesakes, twins or registered twice, on purpose: `--json` lists them.

    The same `--patients`, `--seed` and `--now` make the same bytes on every machine. `clinic-100` is `--patients 100
    --seed 7`: tasks may name it without any file. Nobody in it is real, and it is no epidemiology.

    Examples:

        clerkship dataset generate --patients 1000 --seed 7 --out valley.ndjson

        clerkship dataset generate --now 2026-06-15T08:00:00-04:00 --out valley/

        clerkship dataset generate -n 5 | jq .resourceType
    """
    request = GenerateRequest(patients, seed, parse_now(now) if now is not None else NOW)
    place = Place.parse(to, bundle=bundle) if to not in (None, "-") else None
    if place is not None and not force:
        place.refuse_taken()
    with PatientProgress(err(), patients, quiet=json) as progress:
        made = generate_dataset(request, progress)
    if place is None:
        _show_stdout(made, bundle=bundle, json=json)
        return
    files = save(made, place)
    if json:
        print_json(_summary(made) | {"files": files})
    else:
        _show(made, files, out())


class PatientProgress(Gauge):
    """Told of each patient; a bar on a terminal, nothing elsewhere."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        super().__init__(console, total, quiet=quiet or total < 200)

    def going(self) -> str:
        """What is being made."""
        return "[quiet]patients[/]"

    def __call__(self, number: int) -> None:
        """One more has a chart."""
        self.advance()


def _show_stdout(made: Generated, *, bundle: bool, json: bool) -> None:
    """The data itself; what there is to say about it goes to standard error."""
    if json:
        print_json(_summary(made))
        return
    for piece in made.bundle() if bundle else made.ndjson():
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
    if err().is_terminal:
        _show(made, [], err())


def _summary(made: Generated) -> dict[str, object]:
    return {
        "patients": made.request.patients,
        "seed": made.request.seed,
        "now": made.request.now.isoformat(),
        "generator": made.generator,
        "resources": len(made.lines),
        "sha256": made.digest,
        "types": made.counts,
        "look_alikes": made.look_alikes,
    }


def _show(made: Generated, files: list[Path], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    table.add_column("type")
    table.add_column("resources", justify="right")
    for type, count in made.counts.items():
        table.add_row(type, f"{count:,}")
    table.add_row("[bold]all[/]", f"[bold]{len(made.lines):,}[/]")
    console.print(table)
    pairs = len(made.look_alikes)
    console.print(f"\n[quiet]sha256[/] {made.digest} [quiet](as NDJSON, generator {made.generator})[/]", soft_wrap=True)
    console.print(f"[quiet]{pairs} pair{'s' * (pairs != 1)} easily taken for each other: --json lists them[/]")
    for path in files[:3]:
        console.print(f"[pass]+[/] {escape(str(path))}", soft_wrap=True)
    if len(files) > 3:
        console.print(f"[quiet]  and {len(files) - 3} more[/]")
