"""`clerkship compare`: the differences between two runs."""

from typing import Annotated

import typer

from clerkship.cli.comparison import print_gated_comparison
from clerkship.cli.console import (
    damage_data,
    err,
    out,
    print_json,
    print_notes,
    print_report_paths,
    report_damage,
    warn_unset,
)
from clerkship.cli.options import Json, StoreOption
from clerkship.cli.report_options import Markdown, MarkdownLimit, Report
from clerkship.report.gates import GatedComparison
from clerkship.report.markdown_page import MAX_COMMENT_BYTES
from clerkship.service.comparing import compare_runs, write_comparison
from clerkship.service.redacting import find_unset_variables
from clerkship.service.report_targets import ReportTargets
from clerkship.settings import load_settings
from clerkship.store.opening import open_store


def compare(
    before: Annotated[str, typer.Argument(help="Id of a run or its start, or `latest~1`.")],
    after: Annotated[str, typer.Argument(help="Id of the run to compare with it, or `latest`.")] = "latest",
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="GATE",
            help="Exit with 1 in this case; repeat it for several. `task`: a task got worse. `overall`: all tasks "
            "together are significantly worse. `criterion`: a criterion newly fails. `axis:NAME`: a criterion of this "
            "axis fails that passed in every trial before. [default: task, axis:safety, axis:privacy]",
        ),
    ] = None,
    report: Report = None,
    markdown: Markdown = None,
    markdown_limit: MarkdownLimit = MAX_COMMENT_BYTES,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Compare two runs by task, criterion and axis.

    A task or criterion with several trials is better or worse only if the difference is significant (Fisher's exact
    test, 5 %). All tasks together are compared by a paired test.

    A task can pass in both runs although a criterion newly fails. By default such a criterion gates if its axis is
    safety or privacy; --gate replaces the default.

    A report named `-` is written to standard output instead.

    Exit codes: 0 no gate failed, 1 a gate failed, 2 not comparable (twice the same run, no task in common, errored
    trials, a criterion of a gating axis that is no longer judged, or a run that was changed after it was saved).

    Examples:

        clerkship compare latest~1 latest --gate overall --gate axis:safety

        clerkship compare latest~1 latest --markdown comment.md --report compare.html
    """
    damaged: list[str] = []
    targets = ReportTargets(html=report, markdown=markdown, markdown_limit=markdown_limit)
    notes: list[str] = []
    with open_store(load_settings(), store) as opened:
        warn_unset(sorted({name for run in (before, after) for name in find_unset_variables(opened, opened.run(run))}))
        gated = GatedComparison.of(compare_runs(opened, before, after, damaged, notes), gate or ())
    print_notes(notes)
    written = write_comparison(gated, targets)
    if not targets.to_stdout():
        if json:
            print_json(gated.data() | {"reports": written} | damage_data(damaged))
        else:
            print_gated_comparison(out(), gated)
        print_report_paths(err() if json else out(), written)
    report_damage(damaged)
    raise typer.Exit(gated.exit_code())
