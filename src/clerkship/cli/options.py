"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.report.markdown import COMMENT, LEAST

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
        "rasa:http://host:5005, oracle (the tasks' own solutions), nop (nobody).",
    ),
]
DomainPath = Annotated[
    Path | None,
    typer.Option(
        "--domain",
        metavar="PATH",
        help="Rasa domain, a file or a folder, to check slots against. [default: the agent's own, or the project's]",
    ),
]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run or its start; `latest`, `latest~1`.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", "-c", metavar="N", help="Trials at once. [default: 4]", min=1, max=1000)
]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write the HTML report there.")]
Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML there, for continuous integration.")
]
Jsonl = Annotated[
    Path | None, typer.Option("--jsonl", metavar="FILE", help="Write everything there, events too, as JSON Lines.")
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write a summary there, for a job or a comment.")
]
MarkdownLimit = Annotated[
    int,
    typer.Option("--markdown-limit", metavar="BYTES", help=f"Most it may have; a comment takes {COMMENT}.", min=LEAST),
]
PlaygroundName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Which playground, if several are up.")
]
