"""What `clerkship run` can be told, in the groups its help shows."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.faults.chaos import PROFILES
from clerkship.model.problem import InputError
from clerkship.model.run import Tape
from clerkship.model.votes import MOST_VOTES

_WHICH, _HOW, _GRADED = "Which tasks", "How they are run", "How they are graded"
_PEOPLE, _TAPES = "People played by models", "Record and replay"
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
AgentProcess = Annotated[
    bool,
    typer.Option(
        "--agent-process",
        help="Give a Python agent a process of its own in each trial; without it, it runs in this one, trusted.",
        rich_help_panel=_HOW,
    ),
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
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="WHO",
        help="Who plays people without a script: openai:model, anthropic:model, any:model@address, scripted:file.",
        rich_help_panel=_PEOPLE,
    ),
]
CheckPerson = Annotated[
    bool,
    typer.Option(
        "--check-person", help="Have the judge look at how the person was played, too.", rich_help_panel=_PEOPLE
    ),
]
Metrics = Annotated[
    bool,
    typer.Option("--metrics", help="Have the judge rate each conversation; no verdict.", rich_help_panel=_GRADED),
]
HowManyVotes = Annotated[
    int | None,
    typer.Option(
        "--votes",
        metavar="N",
        min=1,
        max=MOST_VOTES,
        help="Ask the judge N times about each criterion: an odd number; the majority decides. [default: 1]",
        rich_help_panel=_GRADED,
    ),
]
Record = Annotated[
    bool,
    typer.Option("--record", help="Take down what models answer, beside the scenarios.", rich_help_panel=_TAPES),
]
RecordAgent = Annotated[
    bool,
    typer.Option("--record-agent", help="Take down what the agent answers, too.", rich_help_panel=_TAPES),
]
Replay = Annotated[
    bool,
    typer.Option("--replay", help="Ask no model: answers as they were taken down.", rich_help_panel=_TAPES),
]
Refresh = Annotated[
    bool,
    typer.Option("--refresh", help="Replay, and record what is missing.", rich_help_panel=_TAPES),
]
Compat = Annotated[
    str | None,
    typer.Option(
        metavar="WHOSE",
        help="Read assertions as another tool does, quirks and all: rasa.",
        rich_help_panel=_GRADED,
    ),
]


def tape_of(*, record: bool, replay: bool, refresh: bool) -> Tape | None:
    """Which of three was asked for."""
    asked: dict[Tape, bool] = {"record": record, "replay": replay, "refresh": refresh}
    named = [name for name, given in asked.items() if given]
    if len(named) > 1:
        raise InputError.of(f"{' and '.join(f'--{name}' for name in named)} exclude each other", hint="give one")
    return named[0] if named else None
