"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead, for scripts.")]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="File to keep runs in. [default: .clerkship/store.db]"),
]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run or its start; `latest`, `latest~1`.")]


PlaygroundName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Which playground, if several are up.")
]
