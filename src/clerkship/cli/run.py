"""`clerkship run`: run tasks with an agent and show the verdicts."""

from typing import Literal, cast

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.options import (
    Agent,
    AllowUngraded,
    DomainPath,
    Isolate,
    Json,
    Jsonl,
    Judge,
    Junit,
    Markdown,
    MarkdownLimit,
    NoJudge,
    Report,
    Results,
    StorePath,
    judge_of,
)
from clerkship.cli.run_options import (
    AgentProcess,
    AtOnce,
    BenchmarkSlug,
    Chaos,
    CheckPerson,
    Compat,
    HowManyVotes,
    MaxTurns,
    Metrics,
    Person,
    Record,
    RecordAgent,
    Refresh,
    Replay,
    RunPath,
    Seed,
    Shuffle,
    Tags,
    TaskNames,
    Threshold,
    Timeout,
    Trials,
    TurnTimeout,
    UntilSure,
    tape_of,
)
from clerkship.cli.shown import RunShown, reports
from clerkship.model.run import IsolationMode
from clerkship.report.markdown import SUMMARY
from clerkship.service.exporting import Targets, check_results_writable
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView, open_store
from clerkship.service.running import RunResult, execute
from clerkship.settings import Settings, load_settings, with_store

MOST_TRIALS = 50


def run(
    path: RunPath,
    agent: Agent,
    task: TaskNames = None,
    tag: Tags = None,
    benchmark: BenchmarkSlug = None,
    trials: Trials = None,
    concurrency: AtOnce = None,
    seed: Seed = None,
    timeout: Timeout = None,
    turn_timeout: TurnTimeout = None,
    max_turns: MaxTurns = None,
    agent_process: AgentProcess = False,
    shuffle: Shuffle = False,
    chaos: Chaos = None,
    isolate: Isolate = None,
    until_sure: UntilSure = False,
    threshold: Threshold = 0.8,
    compat: Compat = None,
    domain: DomainPath = None,
    judge: Judge = None,
    no_judge: NoJudge = False,
    allow_ungraded: AllowUngraded = False,
    votes: HowManyVotes = None,
    metrics: Metrics = False,
    person: Person = None,
    check_person: CheckPerson = False,
    record: Record = False,
    record_agent: RecordAgent = False,
    replay: Replay = False,
    refresh: Refresh = False,
    report: Report = None,
    junit: Junit = None,
    jsonl: Jsonl = None,
    markdown: Markdown = None,
    markdown_limit: MarkdownLimit = SUMMARY,
    results: Results = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run tasks with an agent, grade what it did, keep everything.

    Exit code: 0 all passed · 1 a verdict is partial or fail · 2 errored, inconclusive, bad input, no criterion was
    judged (see --allow-ungraded), or a trial was changed in the store before the run ended · 130 stopped.

    Example:

        clerkship run suites/clinic --agent python:my_agent:Agent --tag scheduling -k 5
    """
    settings = with_store(load_settings(), store)
    targets = reports(report, junit, jsonl, markdown, markdown_limit, results)
    request = RunRequest(
        path=path,
        agent=agent,
        tasks=tuple(task or ()),
        tags=tuple(tag or ()),
        benchmark=benchmark,
        trials=trials or (MOST_TRIALS if until_sure else 1),
        concurrency=concurrency,
        seed=seed,
        timeout=timeout,
        shuffle=shuffle,
        until_sure=threshold if until_sure else None,
        chaos=chaos,
        compat=cast(Literal["rasa"] | None, compat),  # the service says what it may be
        max_turns=max_turns,
        turn_timeout=turn_timeout,
        domain=domain,
        judge=judge_of(judge, no_judge=no_judge),
        person=person,
        votes=1 if votes is None else votes,
        metrics=metrics,
        checks_person=check_person,
        tape=tape_of(record=record, replay=replay, refresh=refresh),
        tapes_agent=record_agent,
        allow_ungraded=allow_ungraded,
        isolate=cast(IsolationMode | None, isolate),  # the service says what it may be
        agent_process=agent_process,
    )
    raise typer.Exit(run_and_show(request, settings, targets, json=json)[0].exit_code())


def run_and_show(request: RunRequest, settings: Settings, targets: Targets, *, json: bool) -> tuple[RunResult, RunView]:
    """Plan, execute with progress, keep, show, report."""
    catalog = registered()
    plan = plan_run(request, settings, catalog)
    check_results_writable(targets, plan.run.path)
    with open_store(settings, create=True) as store:
        warnings = [*catalog.warnings(), *map(str, plan.warnings)]
        show = RunShown(store, settings.store, targets, json=json, warnings=warnings)
        show.announce(plan)
        return show.follow(plan.run, plan.expected(), lambda watch: execute(plan, store, catalog, [watch]))
