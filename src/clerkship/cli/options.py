"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead, for scripts.")]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="File that runs are kept in. [default: .clerkship/store.db, or CLERKSHIP_STORE]"),
]
Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        "-a",
        help="Who does the work: python:module:name, oracle (the task's own solution) or nop (nobody).",
    ),
]
