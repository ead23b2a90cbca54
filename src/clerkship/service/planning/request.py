"""The request for a run or a fork."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from clerkship.kit.command_option import Option
from clerkship.model.errors import InputError
from clerkship.model.run_options import PersonFacts
from clerkship.service.planning.options import (
    MAX_TIMEOUT,
    MAX_TURN_LIMIT,
    AllowUngraded,
    BotOptions,
    CallLimitOptions,
    ExecutionOptions,
    GradingOptions,
    Judge,
    ModelCallOptions,
    NetworkOptions,
    PersonModel,
    PersonOptions,
    RecordingOptions,
    ResourceOptions,
    Selection,
    TraceOptions,
    Trials,
    check_model_limits,
    check_votes,
    parse_shard,
)
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy

if TYPE_CHECKING:
    from clerkship.actors.contract import Solver
else:
    Solver = Any  # the help reads these annotations, and needs no agent


@dataclass(frozen=True, kw_only=True)
class ForkRequest(BotOptions):
    """Which conversation to continue, from which turn, and with which agent and models."""

    run: Annotated[str, Option(help="Id of a run or its start; `latest`, `latest~1`.", metavar="RUN", is_kept=False)]
    task: Annotated[str, Option(help="Name of a task of the run, or a part of it.", metavar="TASK", is_kept=False)]
    turn: Annotated[
        int,
        Option(("--at-turn",), "The first turn that the agent answers again; earlier turns stay.", "N", is_kept=False),
    ]
    trial: Annotated[
        int | None,
        Option(("--trial",), "Which trial. [default: the first that did not pass]", "K", min=1, is_kept=False),
    ] = None
    agent: Annotated[
        str | Solver | None,
        Option(("--agent", "-a"), "Another agent. [default: that of the run]", "WHO", is_kept=False),
    ] = None
    warm_up: Annotated[
        bool, Option(("--warm-up",), "Send the earlier messages to the agent again, instead of passing the history.")
    ] = False
    judge: Judge = None
    allow_ungraded: AllowUngraded = False
    person: PersonModel = None
    trials: Trials = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunTarget:
    """The files to load tasks from, and the agent to run."""

    path: Annotated[
        Path,
        Option(help="Folder of YAML files, or one file of it; FILE::NAME for one task of it.", is_kept=False),
    ]
    agent: Annotated[
        str | Solver,
        Option(
            ("--agent", "-a"),
            "The agent: python:mod:name, 'command:node agent.mjs', https://host/path "
            "(see --request), openai:model, anthropic:model, gemini:model, rasa:http://host:5005, oracle (the tasks' "
            "solutions), nop (does nothing).",
            "WHO",
            is_kept=False,
        ),
    ]


# The fields of a dataclass start with those of its last base; the help lists them in this order.
@dataclass(frozen=True, kw_only=True)
class RunRequest(
    TraceOptions,
    NetworkOptions,
    BotOptions,
    RecordingOptions,
    CallLimitOptions,
    ModelCallOptions,
    PersonOptions,
    GradingOptions,
    ResourceOptions,
    ExecutionOptions,
    Selection,
    RunTarget,
):
    """Tasks to run with an agent, and how to run them."""

    benchmark: Annotated[
        str | None,
        Option(("--benchmark",), "Only the tasks of this benchmark, under its limits.", "SLUG", "Selection"),
    ] = None
    skip_stubbed: Annotated[
        bool,
        Option(
            ("--skip-stubbed",),
            "Leave out tasks with stubs that the agent cannot apply, instead of refusing to run.",
            panel="Selection",
        ),
    ] = False
    only: frozenset[str] | None = None
    """The exact names of the tasks to run, within the selection; None for all of it."""
    outbound: OutboundPolicy = LOCAL_ONLY
    """The addresses that sandboxes may call."""
    needs_variants: bool = False
    """Whether the agent runs the variants of the tasks' solutions; else they are not loaded."""

    def check(self) -> None:
        """Raise InputError for an option with an invalid value."""
        if self.trial_count < 1 or (self.concurrency or 1) < 1:
            raise InputError.of("trials and concurrency must be at least 1")
        for option, limit in (("--timeout", self.timeout), ("--turn-timeout", self.turn_timeout)):
            if limit is not None and not 0 < limit <= MAX_TIMEOUT:
                raise InputError.of(f"{option} is {limit:g} seconds (expected: more than 0, at most 24h)")
        if self.max_turns is not None and not 1 <= self.max_turns <= MAX_TURN_LIMIT:
            raise InputError.of(f"the number of turns must be from 1 to {MAX_TURN_LIMIT:,}")
        if self.compat not in (None, "rasa"):
            raise InputError.of(f"unknown --compat value `{self.compat}`", hint="expected rasa")
        if self.person_facts not in (None, *get_args(PersonFacts)):
            raise InputError.of(f"unknown --person-facts value `{self.person_facts}`", hint="expected strict or free")
        if self.seed is not None and not -(2**63) <= self.seed < 2**63:
            raise InputError.of("a seed must be an integer of 64 bits")
        if self.votes is not None:
            check_votes(self.votes)
        check_model_limits(self.max_tokens, self.model_timeout)
        if self.until_sure is not None and not 0 < self.until_sure < 1:
            raise InputError.of("--threshold must be between 0 and 1")
        if self.shard is not None:
            parse_shard(self.shard)
            if self.tape in ("record", "refresh"):
                hint = "record without --shard; shards can be replayed"
                raise InputError.of("recordings are written by one run of all trials, not by shards", hint=hint)


def split_case(path: Path) -> tuple[Path, str | None]:
    """Split `tests/refund.yml::a late refund` into a file and the name of one task in it."""
    file, mark, case = str(path).partition("::")
    return (Path(file), case) if mark and not path.exists() else (path, None)
