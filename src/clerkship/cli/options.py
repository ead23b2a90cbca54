"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead, for scripts.")]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="File to keep runs in. [default: .clerkship/store.db]"),
]
Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        "-a",
        metavar="WHO",
        help="Who does the work: python:mod:name, oracle (the tasks' own solutions), nop (nobody).",
    ),
]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, the start of one, or `latest`.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", "-c", metavar="N", help="Trials at once.", min=1, max=1000)
]
PlaygroundName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Which playground, if several are up.")
]
