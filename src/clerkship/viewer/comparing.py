"""The comparison of two runs, criterion by criterion."""

from clerkship.report.comparison_pages import render_comparison
from clerkship.report.gates import GatedComparison
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.service.comparing import compare_runs
from clerkship.settings import get_command_prefix
from clerkship.store.contract import UnknownRun
from clerkship.viewer.answering import reply_with_page
from clerkship.viewer.context import ViewerContext


def show_comparison(context: ViewerContext, request: Request) -> Reply:
    """Show what is better and worse in one run than in another."""
    before, after = (request.query.get(name, "") for name in ("before", "after"))
    if not before or not after:
        raise Refusal(400, "bad_runs", "name two runs as `?before=…&after=…`")
    with context.open_store() as store:
        for run_id in (before, after):
            if not context.may_see(run_id):
                raise UnknownRun(run_id)
        gated = GatedComparison.of(compare_runs(store, before, after))
    command = f"{get_command_prefix()} compare {gated.comparison.before.id} {gated.comparison.after.id}"
    shown = "" if context.store_option is None else command + context.store_option
    return reply_with_page(render_comparison(gated, prefix=context.prefix, command=shown))
