"""The request for a fork."""

from dataclasses import dataclass
from typing import Annotated

from clerkship.actors.contract import Solver
from clerkship.kit.command_option import Option
from clerkship.service.planning.options import AllowUngraded, BotOptions, Judge, PersonModel, Trials


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
