"""Options that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Also name the files that are skipped.")]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="STORE", help="Store file, or postgresql://…. [default: .clerkship/store.db]"),
]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run or its start, or `latest`, `latest~1`.")]


PlaygroundName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Name of the playground, if several are up.")
]
