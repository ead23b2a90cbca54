"""The work of `clerkship rerun`, `resume` and `fork`, imported when one is used."""

from dataclasses import replace

from rich.markup import escape

from clerkship.cli.console import out
from clerkship.cli.report_options import OutputOptions
from clerkship.cli.run_output import open_stored_run
from clerkship.service.fork import plan_fork
from clerkship.service.planning.load import add_headers
from clerkship.service.planning.options import BotOptions, RepeatedRunOptions
from clerkship.service.planning.plan import RunPlan, limit_calls, use_network
from clerkship.service.planning.request import ForkRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.resume import plan_resume
from clerkship.service.resume import resume as resume_run


def rerun_and_show(
    run: str,
    agent: str | None,
    bot: BotOptions,
    resources: RepeatedRunOptions,
    output: OutputOptions,
) -> int:
    """Rerun a stored run, print it, and return the exit code."""
    with open_stored_run(run, resources, output) as (presenter, settings):
        plan = plan_rerun(presenter.store, run, presenter.catalog, settings, agent, bot)
        result, _ = presenter.execute(_apply_options(plan, resources))
    return result.exit_code()


def resume_and_show(
    run: str,
    agent: str | None,
    headers: tuple[str, ...],
    resources: RepeatedRunOptions,
    output: OutputOptions,
    *,
    retry_errored: bool,
    on: str | None = None,
) -> int:
    """Finish a run, print it, and return the exit code."""
    with open_stored_run(run, resources, output, on) as (presenter, settings):
        store, catalog = presenter.store, presenter.catalog
        resumed = plan_resume(
            store, run, catalog, add_headers(headers, settings), agent=agent, retry_errored=retry_errored
        )
        resumed = replace(resumed, plan=_apply_options(resumed.plan, resources))
        plan = resumed.plan
        if not resumed.left and plan.run.status == "completed" and not output.json:
            out().print(f"[quiet]{escape(plan.run.id)} has no trials left to run[/]")
            return plan.run.exit_code(store.counts(plan.run.id))
        presenter.announce(plan, f"{resumed.left} of {plan.run.total} trials left")
        executor = presenter.executor
        result, _ = presenter.follow(
            plan, resumed.left, lambda watch: resume_run(resumed, store, catalog, [watch], executor)
        )
    return result.exit_code()


def fork_and_show(request: ForkRequest, resources: RepeatedRunOptions, output: OutputOptions) -> int:
    """Fork a conversation of a run, print it, and return the exit code."""
    with open_stored_run(request.run, resources, output) as (presenter, settings):
        plan = _apply_options(plan_fork(presenter.store, request, presenter.catalog, settings), resources)
        repetitions = f" × {plan.run.trials}" if plan.run.trials > 1 else ""
        result, _ = presenter.execute(plan, f"{plan.snapshots[0].task.name} from turn {request.turn} on{repetitions}")
    return result.exit_code()


def _apply_options(plan: RunPlan, options: RepeatedRunOptions) -> RunPlan:
    return use_network(limit_calls(plan, options), options)
