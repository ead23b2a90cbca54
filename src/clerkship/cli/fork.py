"""`clerkship fork`: go on with a recorded conversation from one of its turns."""

from typing import Annotated

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.options import (
    AllowUngraded,
    Concurrency,
    Isolate,
    Json,
    Jsonl,
    Judge,
    Junit,
    Markdown,
    MarkdownLimit,
    NoJudge,
    Report,
    RunReference,
    StorePath,
    judge_of,
)
from clerkship.cli.run_options import Person, Trials
from clerkship.cli.shown import RunShown, reports
from clerkship.report.markdown import SUMMARY
from clerkship.service.fork import ForkRequest, plan_fork
from clerkship.service.reading import open_store
from clerkship.service.running import execute
from clerkship.settings import isolating, limited, load_settings


def fork(
    run: RunReference,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Name of a task of the run, or a part of it.")],
    at_turn: Annotated[
        int, typer.Option("--at-turn", metavar="N", help="The first turn that is answered anew; turns before it stay.")
    ],
    trial: Annotated[
        int | None,
        typer.Option("--trial", metavar="K", help="Which trial. [default: the first that did not pass]", min=1),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="WHO", help="Another agent than the run had.")
    ] = None,
    warm_up: Annotated[
        bool, typer.Option("--warm-up", help="Have the agent answer the earlier lines, instead of telling it of them.")
    ] = False,
    judge: Judge = None,
    no_judge: NoJudge = False,
    allow_ungraded: AllowUngraded = False,
    person: Person = None,
    trials: Trials = None,
    concurrency: Concurrency = None,
    isolate: Isolate = None,
    report: Report = None,
    junit: Junit = None,
    jsonl: Jsonl = None,
    markdown: Markdown = None,
    markdown_limit: MarkdownLimit = SUMMARY,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Go on with a recorded conversation from a turn, with another agent or model.

    All before is as it was, the person's line of that turn included: words, deeds, sandboxes, simulated time. It is a
    run of its own, whose log begins with the lines of the other.

    Example:

        clerkship fork latest refund --at-turn 4 --agent python:my_agent:Agent
    """
    settings = isolating(load_settings(), isolate)
    targets = reports(report, junit, jsonl, markdown, markdown_limit)
    path, catalog = store or settings.store, registered()
    request = ForkRequest(
        run=run,
        task=task,
        turn=at_turn,
        trial=trial,
        agent=agent,
        judge=judge_of(judge, no_judge=no_judge),
        person=person,
        trials=trials or 1,
        warm_up=warm_up,
        allow_ungraded=allow_ungraded,
    )
    with open_store(settings, path) as kept:
        limits = limited(settings, concurrency or kept.run(run).concurrency)
        plan = plan_fork(kept, request, catalog, limits)
        warnings = [*catalog.warnings(), *(problem.message for problem in plan.warnings)]
        show = RunShown(kept, path, targets, json=json, warnings=warnings)
        times = f" × {plan.run.trials}" if plan.run.trials > 1 else ""
        show.announce(plan, f"{plan.snapshots[0].task.name} from turn {at_turn} on{times}")
        result, _ = show.follow(plan.run, plan.expected(), lambda watch: execute(plan, kept, catalog, [watch]))
    raise typer.Exit(result.exit_code())
