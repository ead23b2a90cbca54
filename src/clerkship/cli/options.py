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
        help="Who does the work: python:mod:name, 'command:node agent.mjs', https://host/path, openai:model, "
        "oracle (the tasks' own solutions), nop (nobody).",
    ),
]
