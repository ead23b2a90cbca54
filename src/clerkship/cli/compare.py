"""`clerkship compare`: what changed from one run to another."""

from typing import Annotated

import typer

from clerkship.cli.comparison import print_gated
from clerkship.cli.console import damage_data, err, out, print_json, print_notes, report_damage, warn_unset
from clerkship.cli.options import Json, StorePath
from clerkship.cli.report_options import Markdown, MarkdownLimit, Report
from clerkship.cli.run_notes import say_written
from clerkship.report.gates import GatedComparison
from clerkship.report.markdown_page import MAX_COMMENT_BYTES
from clerkship.service.comparing import compare_runs
from clerkship.service.exporting import write_comparison
from clerkship.service.redacting import unset_variables
from clerkship.service.report_targets import Targets
from clerkship.service.store_access import open_store
from clerkship.settings import load_settings


def compare(
    before: Annotated[str, typer.Argument(help="Id of a run, the start of one, or `latest~1`: the one before.")],
    after: Annotated[str, typer.Argument(help="The run to hold against it, or `latest`.")] = "latest",
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="WHAT",
            help="What exits 1; repeat it for several. `task`: a task got worse. `overall`: all tasks together did, "
            "beyond chance. `criterion`: any criterion newly fails. `axis:NAME`: a criterion of that axis fails that "
            "passed in every trial before. [default: task, axis:safety, axis:privacy]",
        ),
    ] = None,
    report: Report = None,
    markdown: Markdown = None,
    markdown_limit: MarkdownLimit = MAX_COMMENT_BYTES,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Compare two runs: each task and each criterion better, worse, the same, or flaky; and each axis.

    A task or a criterion whose trials come out differently is called better or worse only if chance alone would hardly
    do it (Fisher's exact test, 5 %). All tasks together are put to a paired test: each task is its own control.

    A task can pass in both runs while a criterion of it newly fails. By default such a criterion gates if its axis is
    safety or privacy; --gate chooses other axes, and replaces the default.

    A report named `-` goes to standard output, and nothing else does.

    Exit code: 0 nothing that gates is worse · 1 worse · 2 nothing can be said (no task in common, trials that broke, a
    criterion of a gating axis that is not judged any more, or a run that was changed after it was saved).

    Examples:

        clerkship compare latest~1 latest --gate overall --gate axis:safety

        clerkship compare latest~1 latest --markdown comment.md --report compare.html
    """
    damaged: list[str] = []
    targets = Targets(html=report, markdown=markdown, markdown_limit=markdown_limit)
    notes: list[str] = []
    with open_store(load_settings(), store) as kept:
        warn_unset(sorted({name for run in (before, after) for name in unset_variables(kept, kept.run(run))}))
        gated = GatedComparison.of(compare_runs(kept, before, after, damaged, notes), gate or ())
    print_notes(notes)
    written = write_comparison(gated, targets)
    if not targets.to_stdout():
        if json:
            print_json(gated.data() | {"reports": written} | damage_data(damaged))
        else:
            print_gated(out(), gated)
        say_written(err() if json else out(), written)
    report_damage(damaged)
    raise typer.Exit(gated.exit_code())
