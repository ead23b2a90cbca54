"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.model.model_choice import NOBODY
from clerkship.model.problem import InputError
from clerkship.report.markdown import COMMENT
from clerkship.report.markdown_page import LEAST

_GRADED, _REPORTS = "How they are graded", "Reports"
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
        rich_help_panel=_GRADED,
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="WHO",
        help="Who judges what no rule decides: openai:model, anthropic:model, any:model@address, scripted:file.",
        rich_help_panel=_GRADED,
    ),
]
AllowUngraded = Annotated[
    bool,
    typer.Option(
        "--allow-ungraded", help="Exit 0 even if there are criteria and none was judged.", rich_help_panel=_GRADED
    ),
]
NoJudge = Annotated[bool, typer.Option("--no-judge", help="Skip what a model must judge.", rich_help_panel=_GRADED)]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run or its start; `latest`, `latest~1`.")]
Isolate = Annotated[
    str | None,
    typer.Option(
        "--isolate",
        metavar="MODE",
        help="Hide the store, the tasks and other processes from a program: auto (where the machine can), "
        "always (or refuse to run), never. [default: auto]",
        rich_help_panel="How they are run",
    ),
]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", "-c", metavar="N", help="Trials at once. [default: 4]", min=1, max=1000)
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write the HTML report there.", rich_help_panel=_REPORTS)
]
Junit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write JUnit XML there, for continuous integration.", rich_help_panel=_REPORTS
    ),
]
Jsonl = Annotated[
    Path | None,
    typer.Option(
        "--jsonl", metavar="FILE", help="Write everything there, events too, as JSON Lines.", rich_help_panel=_REPORTS
    ),
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown", metavar="FILE", help="Write a summary there, for a job or a comment.", rich_help_panel=_REPORTS
    ),
]
MarkdownLimit = Annotated[
    int,
    typer.Option(
        "--markdown-limit",
        metavar="BYTES",
        help=f"Most it may have; a comment takes {COMMENT}.",
        min=LEAST,
        rich_help_panel=_REPORTS,
    ),
]
Results = Annotated[
    str | None,
    typer.Option(
        "--results",
        metavar="rasa[:DIR]",
        help="Write results as Rasa's evaluation does, to eval/results or to DIR.",
        rich_help_panel=_REPORTS,
    ),
]
PlaygroundName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Which playground, if several are up.")
]


def judge_of(judge: str | None, *, no_judge: bool) -> str | None:
    """Who was asked for by the two options."""
    if judge is not None and no_judge:
        raise InputError.of("--judge and --no-judge exclude each other", hint="give one of them")
    return NOBODY if no_judge else judge
