"""What `clerkship run` can be told, in the groups its help shows."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.faults.chaos import PROFILES

_WHICH, _HOW, _GRADED = "Which tasks", "How they are run", "How they are graded"
_LONGEST = 86_400

RunPath = Annotated[
    Path, typer.Argument(help="Folder of YAML files, or one file of it; FILE::NAME for one task of it.")
]
TaskNames = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="NAME",
        help="Only tasks with this in their name, or in a file of this name; `*` allowed.",
        rich_help_panel=_WHICH,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", "-t", metavar="TAG", help="Only tasks with this tag; may be repeated.", rich_help_panel=_WHICH
    ),
]
BenchmarkSlug = Annotated[
    str | None,
    typer.Option(metavar="SLUG", help="Only the tasks of this benchmark, under its limits.", rich_help_panel=_WHICH),
]
Trials = Annotated[
    int | None,
    typer.Option(
        "--trials", "-k", metavar="N", help="How often each task is run. [default: 1]", min=1, rich_help_panel=_HOW
    ),
]
AtOnce = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        "-c",
        metavar="N",
        help="Trials at once. [default: 4]",
        min=1,
        max=1000,
        rich_help_panel=_HOW,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="What ids and randomness derive from. [default: 0]", rich_help_panel=_HOW),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SEC",
        help="Wall seconds for tasks that set none. [default: 300]",
        min=0.001,
        max=_LONGEST,
        rich_help_panel=_HOW,
    ),
]
TurnTimeout = Annotated[
    float | None,
    typer.Option(
        metavar="SEC",
        help="Wall seconds for each answer in a conversation. [default: 60]",
        min=0.001,
        max=_LONGEST,
        rich_help_panel=_HOW,
    ),
]
MaxTurns = Annotated[
    int | None,
    typer.Option(metavar="N", help="Turns of a conversation. [default: 50]", min=1, max=10_000, rich_help_panel=_HOW),
]
Shuffle = Annotated[
    bool,
    typer.Option("--shuffle", help="Run in an order the seed decides; verdicts stay the same.", rich_help_panel=_HOW),
]
Chaos = Annotated[
    str | None,
    typer.Option(
        metavar="PROFILE", help=f"Faults in the way of every task: {' or '.join(PROFILES)}.", rich_help_panel=_HOW
    ),
]
UntilSure = Annotated[
    bool,
    typer.Option(
        "--until-sure",
        help="Repeat a task only until its rate is clear of --threshold; -k: the most, else 50.",
        rich_help_panel=_HOW,
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        metavar="RATE",
        help="With --until-sure: the pass rate that matters.",
        min=0.01,
        max=0.99,
        rich_help_panel=_HOW,
    ),
]
Compat = Annotated[
    str | None,
    typer.Option(
        metavar="WHOSE",
        help="Read assertions as another tool does, quirks and all: rasa.",
        rich_help_panel=_GRADED,
    ),
]
