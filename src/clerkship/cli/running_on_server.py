"""The work of `clerkship run --on`, imported when the option is used."""

from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json, print_report_paths
from clerkship.cli.progress import RunProgress
from clerkship.cli.report_options import OutputOptions
from clerkship.cli.run_output import get_page_path, print_ungraded
from clerkship.cli.verdicts import print_published, print_run
from clerkship.client import Client
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun
from clerkship.report.detail import JunitCase
from clerkship.report.published_version import describe_notes
from clerkship.service.exporting import ReportFailed, write_files
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView
from clerkship.service.redacting import build_secrets_redactor
from clerkship.service.report_targets import ReportTargets
from clerkship.service.running_on_server import ServerRun, build_record, check_options, load_agent
from clerkship.service.server_key import read_key
from clerkship.settings import load_settings, override_settings

PERSON_PREFIX = "clk_"
_LOCAL_REPORTS = "is written from the store of a local run; leave it out, or run the version without --on"


def run_on_server_and_show(
    request: RunRequest, server: str, key_file: Path | None, output: OutputOptions, *, scored: bool = False
) -> int:
    """Run a published version of a server with an agent here, print it as a local run, and return the exit code."""
    check_options(request)
    settings, targets = override_settings(load_settings(), store=output.place), output.reports()
    key = read_key(key_file, settings)
    _check_targets(targets, key)
    redactor, console = build_secrets_redactor(server_key=key), out()
    with Client(server, key) as client:
        agent = load_agent(request, client, settings, build_catalog())
        run = ServerRun(client, request, settings, agent, () if key_file is None else (key_file,))
        started = run.start(scored=scored)
        if not output.json:
            _announce(console, build_record(started), server)
        with agents_print_to_stderr(redactor), RunProgress(console, len(started.task_runs), quiet=output.json) as bar:
            view = run.play(started, bar).redacted(redactor)
        if not output.json:
            print_run(console, view)
            print_ungraded(console, view.run, view.counts)
            console.print(f"[quiet]run[/] {view.run.id} [quiet]at[/] {escape(server)}", soft_wrap=True)
        if targets.html is None and key.startswith(PERSON_PREFIX):
            report = get_page_path(settings.store, view.run.id)
            targets = ReportTargets(**{**vars(targets), "html": report})
        failed = write_files(targets.files(), partial(_render, view=view, client=client, limit=targets.markdown_limit))
    if failed:
        raise ReportFailed("\n".join(failed))
    if output.json:
        _print_json(view, targets)
    else:
        print_report_paths(console, targets.files())
    return view.exit_code()


def _check_targets(targets: ReportTargets, key: str) -> None:
    """Raise InputError for reports that need a local store or another key."""
    wanted = {"jsonl": targets.jsonl, "results": targets.results, **targets.exports.paths()}
    local = next((f"--{sort}" for sort, target in wanted.items() if target is not None), None)
    if local is not None:
        raise InputError.of(f"{local} {_LOCAL_REPORTS}")
    if targets.html is not None and not key.startswith(PERSON_PREFIX):
        raise InputError.of("--report needs the key of a person", hint="with a solver key, use --junit or --markdown")


def _announce(console: Console, run: BenchmarkRun, server: str) -> None:
    tasks = run.total // run.trials
    repetitions = f" × {run.trials}" if run.trials > 1 else ""
    description = f"{tasks} task{'s' * (tasks != 1)}{repetitions}"
    print_published(console, run)
    console.print(
        f"[bold]{escape(run.name)}[/]  {description}  [quiet]agent[/] {escape(run.solver)}  "
        f"[quiet]seed {run.seed}[/]  [quiet]on[/] {escape(server)}"
    )


def _render(sort: str, view: RunView, client: Client, limit: int) -> list[bytes]:
    if sort == "html":
        return [client.get_report(view.run.id)]
    if sort == "markdown":
        render = load("clerkship.report.markdown:render_markdown")
        return [render(view.run, view.counts, lambda: view.task_runs, limit, view.judged()).encode()]
    render = load("clerkship.report.junit:render_junit")
    cases = [JunitCase(task_run, "", 0.0) for task_run in view.task_runs]
    return [piece.encode() for piece in render(view.run, view.counts, lambda: cases, view.judged())]


def _print_json(view: RunView, targets: ReportTargets) -> None:
    data = {"run": view.run, "counts": view.counts, "exit_code": view.exit_code(), "report": targets.html}
    data |= {"reports": targets.files(), "repeats": view.repeats(), "judged": view.judged_data()}
    data |= {"templates": view.templates_data(), "tasks": view.task_runs, "notes": describe_notes(view.run)}
    print_json(data)
