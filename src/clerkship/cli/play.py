"""`clerkship play`: a person does a task in the browser, and is graded as an agent is."""

import sys
import webbrowser
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out
from clerkship.cli.groups import grouped
from clerkship.cli.report_options import OutputOptions
from clerkship.cli.run_output import RunPresenter
from clerkship.kit.stop_signals import StopFlag, handle_stop_signals
from clerkship.kit.wall import monotonic
from clerkship.service.playing import PlayRequest, PlaySession, plan_play
from clerkship.service.reading import RunView
from clerkship.service.redacting import build_run_redactor
from clerkship.settings import has_screen, load_settings, override_settings
from clerkship.store.opening import open_store
from clerkship.viewer.answering import respond
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.context import ViewerContext

PAGE = "play"
TELL_SECONDS, STOP_SECONDS = 5.0, 1.5
"""How long the page has to fetch the verdict before the command ends: of a run that ended, of one that was stopped."""
POLL_SECONDS = 0.1


@grouped
def play(
    *,
    request: PlayRequest,
    output: OutputOptions,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port of the page; 0 for a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address of the page.")] = False,
) -> None:
    """Do a task yourself in the browser, and be graded as an agent is.

    The page has what an agent has: the task, the tools of every sandbox, the simulated clock. The run is stored with
    the solver `human`, so that `show`, `compare` and reports take it. To give up on the page counts as a failure;
    Ctrl-C cancels the run, which has no verdict then. On a terminal, the pages stay open after the verdict until
    Ctrl-C.

    Exit codes: 0 passed, 1 the verdict is partial or fail, 2 errored, inconclusive or invalid input, 130 interrupted.

    Examples:

        clerkship play --from suites/chart "Move an appointment"

        clerkship play --from chart@1 "Move an appointment" --no-open
    """
    targets, catalog = output.reports(), build_catalog()
    settings = override_settings(load_settings(), store=output.place)
    session = PlaySession(request.timeout)
    plan = plan_play(request, session, settings, catalog)
    context = ViewerContext(settings, partial(open_store, settings), play=session)
    with open_store(settings, create=True) as store, LocalViewer(partial(respond, context), port, PAGE) as viewer:
        session.begin(plan, build_run_redactor(store, plan.run))
        console = err() if output.json else out()
        console.print(f"[quiet]open[/]  {escape(viewer.url)}", soft_wrap=True)
        is_interactive = not output.json and out().is_terminal
        if is_interactive and not no_open and has_screen():
            webbrowser.open(viewer.url)
        presenter = RunPresenter(store, settings.store, targets, catalog, json=output.json)
        result, view = presenter.execute(plan)
        _show_verdict(session, view, viewer.address, stays=is_interactive and sys.stdin.isatty())
    raise typer.Exit(result.exit_code())


def _show_verdict(session: PlaySession, view: RunView, address: str, *, stays: bool) -> None:
    """Let the page show the verdict. On a terminal, keep the pages open until Ctrl-C."""
    stopped = StopFlag()
    with handle_stop_signals(stopped.set):
        for task_run in view.task_runs:
            session.finish(task_run)
        is_stopped = view.run.status == "cancelled"
        deadline = monotonic() + (STOP_SECONDS if is_stopped else TELL_SECONDS)
        while session.has_page and not session.is_told and monotonic() < deadline and not stopped.wait(POLL_SECONDS):
            pass
        if stays and not is_stopped:
            out().print(f"[quiet]pages[/]  {escape(address)}runs/{view.run.id} [quiet]until Ctrl-C[/]", soft_wrap=True)
            while not stopped.wait(TELL_SECONDS):
                pass
