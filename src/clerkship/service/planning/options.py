"""The options of a run, in typed groups: declared once, for the command line, the pytest plugin and Python.

A request inherits from the groups it needs; a function takes only the group that it reads.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from clerkship.faults.chaos import PROFILES
from clerkship.kit.command_option import Option
from clerkship.model.errors import InputError
from clerkship.model.model_choice import NO_MODEL
from clerkship.model.quality import MAX_VOTES
from clerkship.model.run import IsolationMode, RecordingMode

MAX_TIMEOUT = 86_400
MAX_TURN_LIMIT = 10_000
MAX_TRIALS_UNTIL_SURE = 50
"""Trials of each task with `until_sure`, where no other number is given."""
_WHICH, _HOW, _GRADED = "Which tasks", "How they are run", "How they are graded"
_PEOPLE, _RECORDINGS = "People played by models", "Record and replay"
_SECONDS: Any = {"min": 0.001, "max": MAX_TIMEOUT}
_MODELS = "openai:model, anthropic:model, any:model@address, scripted:file"


Concurrency = Annotated[
    int | None,
    Option(("--concurrency", "-c"), "Trials at once. [default: 4]", "N", _HOW, min=1, max=1000, is_kept=False),
]
Trials = Annotated[
    int | None,
    Option(("--trials", "-k"), "How often each task is run. [default: 1]", "N", _HOW, min=1, is_kept=False),
]
Seed = Annotated[
    int | None, Option(("--seed",), "What ids and randomness derive from. [default: 0]", "N", _HOW, is_kept=False)
]
DomainPath = Annotated[
    Path | None,
    Option(
        ("--domain",),
        "Rasa domain, a file or a folder, to check slots against. [default: the agent's own, or the project's]",
        "PATH",
        _GRADED,
    ),
]
Judge = Annotated[
    str | None,
    Option(
        ("--judge",),
        f"Who judges what no rule decides: {_MODELS}.",
        "WHO",
        _GRADED,
        flags={"--no-judge": (NO_MODEL, "Skip what a model must judge.")},
    ),
]
"""The model that judges what no rule decides; `none` to skip it."""
AllowUngraded = Annotated[
    bool, Option(("--allow-ungraded",), "Exit 0 even if there are criteria and none was judged.", panel=_GRADED)
]
VoteCount = Annotated[
    int | None,
    Option(
        ("--votes",),
        "Ask the judge N times about each criterion: an odd number; the majority decides. [default: 1]",
        "N",
        _GRADED,
        min=1,
        max=MAX_VOTES,
    ),
]
Metrics = Annotated[bool, Option(("--metrics",), "Have the judge rate each conversation; no verdict.", panel=_GRADED)]
PersonModel = Annotated[
    str | None, Option(("--person",), f"Who plays people without a script: {_MODELS}.", "WHO", _PEOPLE)
]
TapeMode = Annotated[
    RecordingMode | None,
    Option(
        panel=_RECORDINGS,
        flags={
            "--record": ("record", "Take down what models answer, beside the scenarios."),
            "--replay": ("replay", "Ask no model: answers as they were taken down."),
            "--refresh": ("refresh", "Replay, and record what is missing."),
        },
    ),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection:
    """Which of the tasks in the files."""

    tasks: Annotated[
        tuple[str, ...],
        Option(
            ("--task",), "Only tasks with this in their name, or in a file of this name; `*` allowed.", "NAME", _WHICH
        ),
    ] = ()
    tags: Annotated[
        tuple[str, ...], Option(("--tag", "-t"), "Only tasks with this tag; may be repeated.", "TAG", _WHICH)
    ] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResourceOptions:
    """How many trials run at once, and how isolated their agent is."""

    concurrency: Concurrency = None
    isolate: Annotated[
        IsolationMode | None,
        Option(
            ("--isolate",),
            "Hide the store, the tasks and other processes from a program: auto (where the machine can), "
            "always (or refuse to run), never. [default: auto]",
            "MODE",
            _HOW,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExecutionOptions:
    """How often tasks are run, and within which limits."""

    trials: Trials = None
    """1 if not given; with `until_sure`, the most, and 50 if not given."""
    seed: Seed = None
    timeout: Annotated[
        float | None,
        Option(("--timeout",), "Wall seconds for tasks that set none. [default: 300]", "SEC", _HOW, **_SECONDS),
    ] = None
    turn_timeout: Annotated[
        float | None,
        Option(
            ("--turn-timeout",),
            "Wall seconds for each answer in a conversation. [default: 60]",
            "SEC",
            _HOW,
            **_SECONDS,
        ),
    ] = None
    max_turns: Annotated[
        int | None,
        Option(("--max-turns",), "Turns of a conversation. [default: 50]", "N", _HOW, min=1, max=MAX_TURN_LIMIT),
    ] = None
    agent_process: Annotated[
        bool,
        Option(
            ("--agent-process",),
            "Give a Python agent a process of its own in each trial; without it, it runs in this one, trusted.",
            panel=_HOW,
            is_kept=False,
        ),
    ] = False
    shuffle: Annotated[
        bool,
        Option(("--shuffle",), "Run in an order the seed decides; verdicts stay the same.", panel=_HOW, is_kept=False),
    ] = False
    chaos: Annotated[
        str | None, Option(("--chaos",), f"Faults in the way of every task: {' or '.join(PROFILES)}.", "PROFILE", _HOW)
    ] = None
    until_sure: Annotated[
        float | None,
        Option(
            ("--threshold",),
            "With --until-sure: the pass rate that matters.",
            "RATE",
            _HOW,
            min=0.01,
            max=0.99,
            switch=(
                "--until-sure",
                "Repeat a task only until its rate is clear of --threshold; -k: the most, else 50.",
            ),
            switch_value=0.8,
        ),
    ] = None

    @property
    def trial_count(self) -> int:
        """How often each task is run, at most."""
        if self.trials is not None:
            return self.trials
        return MAX_TRIALS_UNTIL_SURE if self.until_sure is not None else 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradingOptions:
    """By what and by which model trials are graded."""

    compat: Annotated[
        Literal["rasa"] | None,
        Option(("--compat",), "Read assertions as another tool does, quirks and all: rasa.", "WHOSE", _GRADED),
    ] = None
    domain: DomainPath = None
    judge: Judge = None
    allow_ungraded: AllowUngraded = False
    votes: VoteCount = None
    """How often the judge is asked about each criterion that does not say; 1 if not given."""
    metrics: Metrics = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PersonOptions:
    """Which model plays people that are not scripted."""

    person: PersonModel = None
    checks_person: Annotated[
        bool, Option(("--check-person",), "Have the judge look at how the person was played, too.", panel=_PEOPLE)
    ] = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingOptions:
    """Whether answers are recorded, or replayed from what was recorded."""

    tape: TapeMode = None
    tapes_agent: Annotated[
        bool, Option(("--record-agent",), "Take down what the agent answers, too.", panel=_RECORDINGS)
    ] = False


def check_votes(votes: int) -> int:
    """Return how often a judge is asked the same; raise InputError for a number that decides nothing."""
    if not 1 <= votes <= MAX_VOTES or votes % 2 == 0:
        hint = "an even one can be split in halves"
        raise InputError.of(f"votes are an odd number from 1 to {MAX_VOTES}", hint=hint)
    return votes
