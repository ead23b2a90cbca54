"""Executes a plan and prints the run, with progress, on the terminal or as JSON."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json, print_report_paths, print_unrecorded_trials, print_warning
from clerkship.cli.progress import RunProgress
from clerkship.cli.report_options import OutputOptions
from clerkship.cli.skipped_files import print_skipped_files
from clerkship.cli.verdicts import print_published, print_run
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.request_line import describe_unmatched_requests
from clerkship.model.errors import InputProblem
from clerkship.model.run import BenchmarkRun, Counts
from clerkship.model.store_place import StorePlace, get_store_folder
from clerkship.recording.session import RecordingReport
from clerkship.report.outcome import classify_result
from clerkship.report.published_version import describe_notes
from clerkship.service.exporting import ReportFailed, write_reports
from clerkship.service.planning.load import choose_collector
from clerkship.service.planning.options import RepeatedRunOptions
from clerkship.service.planning.plan import RunPlan
from clerkship.service.reading import RunView, show_run
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import ReportTargets
from clerkship.service.running import HERE, Executor, RunResult, TrialObserver, execute
from clerkship.service.temporal.address import TemporalAddress, require_temporal
from clerkship.settings import Settings, get_command_prefix, load_settings, override_isolation, override_settings
from clerkship.store.contract import Store
from clerkship.store.opening import open_store

MAX_UNMATCHED_REQUESTS = 5
MAX_FILES = 5


def get_page_path(store: StorePlace, run_id: str) -> Path:
    """Return where the HTML report of a run is, beside its store, unless another file was named."""
    return get_store_folder(store) / "reports" / f"{run_id}.html"


@dataclass(frozen=True)
class RunPresenter:
    """Executes plans, prints their runs and writes reports."""

    store: Store
    path: StorePlace
    targets: ReportTargets
    catalog: RegisteredCatalog
    _: KW_ONLY
    json: bool = False
    executor: Executor = HERE
    """Runs the trials."""
    verbose: bool = False
    """Whether to name the files that were skipped."""

    def execute(self, plan: RunPlan, description: str = "") -> tuple[RunResult, RunView]:
        """Announce a plan, execute it with progress, and show the result."""
        self.announce(plan, description)
        return self.follow(plan, plan.expected(), self._execute(plan))

    def _execute(self, plan: RunPlan) -> Callable[[TrialObserver], RunResult]:
        return lambda watch: execute(plan, self.store, self.catalog, [watch], self.executor)

    def announce(self, plan: RunPlan, description: str = "") -> None:
        """Print what is about to run, and the warnings."""
        if self.json:
            return
        count = len(plan.snapshots)
        limit = "at most " if plan.plan.until_sure else ""
        repetitions = f" × {limit}{plan.run.trials}" if plan.run.trials > 1 else ""
        shard = f"  shard {plan.run.shard}: {plan.run.total} trials" if plan.run.shard is not None else ""
        description = description or f"{count} task{'s' * (count != 1)}{repetitions}{shard}"
        agent = f"[quiet]agent[/] {escape(plan.run.solver)}  [quiet]seed {plan.run.seed}[/]"
        option_words = shlex.join(plan.run.options)
        options = f"  [quiet]{escape(option_words)}[/]" if option_words else ""
        models = {"judge": plan.run.judge, "person": plan.run.person}
        names = [
            f"  [quiet]{role}[/] {escape(choice.who)}"
            for role, choice in models.items()
            if choice is not None and not {f"--{role}", f"--no-{role}"} & set(plan.run.options)
        ]
        console = out()
        print_published(console, plan.run)
        console.print(f"[bold]{escape(plan.run.name)}[/]  {description}  {agent}{options}{''.join(names)}")
        if plan.domain is not None:
            console.print(f"[quiet]names checked against the domain[/] {escape(plan.domain)}", soft_wrap=True)
        if plan.signature:
            console.print(f"[quiet]{escape(plan.signature)}[/]", soft_wrap=True)
        if plan.is_partial:
            console.print("[quiet]other tasks of this folder are not checked: `clerkship validate` checks them[/]")
        for warning in plan.warnings:
            print_warning(warning, console)

    def follow(
        self, plan: RunPlan, total: int | None, run_trials: Callable[[TrialObserver], RunResult]
    ) -> tuple[RunResult, RunView]:
        """Do the work with progress, print the result and write the reports; `total` may be unknown."""
        console, redactor = out(), build_run_redactor(self.store, plan.run)
        warnings = [*self.catalog.warnings(), *map(str, plan.warnings)]
        with agents_print_to_stderr(redactor), RunProgress(console, total, quiet=self.json) as progress:
            result = run_trials(progress)
        view = show_run(self.store, result.run.id, seals=result.seals).redacted(redactor)
        result = result.checked_again(self.store)
        view = replace(view, seals=result.seals or view.seals)
        warnings += [result.untraced] if result.untraced else []
        if not self.json:
            print_run(console, view, self._elsewhere)
            print_ungraded(console, view.run, view.counts)
            print_skipped_files(console, plan.skipped_files, verbose=self.verbose)
            self._print_next_commands(console, view)
            print_recording(console, result.tape)
            print_unmatched_requests(console, result)
            if result.untraced:
                print_warning(InputProblem(message=result.untraced), console)
        page = self.targets.html or get_page_path(self.path, result.run.id)
        targets = replace(self.targets, html=page)
        try:
            written = write_reports(self.store, result.run.id, targets, view.seals)
        except ReportFailed as failure:
            if not self.json:
                raise
            self._print_json(result, view, targets.files(), warnings, [InputProblem(message=str(failure))])
            raise typer.Exit(2) from None
        if self.json:
            self._print_json(result, view, written, warnings)
        else:
            print_report_paths(console, written)
        return result, view

    def _print_json(
        self,
        result: RunResult,
        view: RunView,
        written: dict[str, Path],
        warnings: Sequence[str],
        problems: Sequence[InputProblem] = (),
    ) -> None:
        code = 2 if problems else result.exit_code()
        data = {"run": view.run, "counts": view.counts, "exit_code": code, "report": written["html"]}
        data |= {"reports": written, "repeats": view.repeats(), "judged": view.judged_data()}
        data |= {"templates": view.templates_data(), "seals": view.seals.data()}
        data |= {"tasks": view.task_runs, "warnings": warnings, "notes": describe_notes(view.run)}
        data |= {"tape": result.tape} if result.tape is not None else {}
        data |= {"unplaced_requests": result.unplaced} if describe_unmatched_requests(result.unplaced) else {}
        print_json(data | ({"problems": problems} if problems else {}))

    @property
    def _elsewhere(self) -> str:
        """The option that names the store, if it is not the default."""
        return f" --store {shlex.quote(str(self.path))}" if self.path != load_settings().store else ""

    def _print_next_commands(self, console: Console, view: RunView) -> None:
        failed = next((t for t in view.task_runs if classify_result(t) in ("failed", "errored")), None)
        task = f" {shlex.quote(failed.task)}" if failed is not None else ""
        command = f"{get_command_prefix()} show {view.run.id}{task}{self._elsewhere}"
        console.print(f"[quiet]details[/] {escape(command)}", soft_wrap=True)
        if view.run.status == "cancelled":
            console.print(
                f"[quiet]continue[/] {get_command_prefix()} resume {view.run.id}{escape(self._elsewhere)}",
                soft_wrap=True,
            )


def print_ungraded(console: Console, run: BenchmarkRun, counts: Counts) -> None:
    """Print why a run without a judged criterion does not succeed, and what to do."""
    if run.is_ungraded(counts):
        advice = "" if run.allow_ungraded else ": name a judge with --judge, or use --allow-ungraded"
        console.print(f"[inconclusive]nothing was graded[/]: no criterion was judged{advice}")


def print_unmatched_requests(console: Console, result: RunResult) -> None:
    """Print requests that belonged to no running trial: to one that had ended, or to a wrong address."""
    head, *lines = describe_unmatched_requests(result.unplaced) or [""]
    if head:
        console.print(f"[quiet]{escape(head)}[/]")
    for line in lines[:MAX_UNMATCHED_REQUESTS]:
        console.print(f"  [quiet]{escape(line)}[/]", soft_wrap=True)


@contextmanager
def open_stored_run(
    reference: str, resources: RepeatedRunOptions, output: OutputOptions, on: str | None = None
) -> Iterator[tuple[RunPresenter, Settings]]:
    """Open the store of a run that another starts from, with the settings of the options and of that run."""
    settings, targets = override_isolation(load_settings(), resources.isolate), output.reports()
    settings = choose_collector(resources, settings)
    path = output.place or settings.store
    with open_store(settings, path) as store:
        limits = override_settings(settings, concurrency=resources.concurrency or store.run(reference).concurrency)
        catalog = build_catalog()
        executor = build_executor(on, catalog)
        yield RunPresenter(store, path, targets, catalog, json=output.json, executor=executor), limits


def build_executor(on: str | None, catalog: RegisteredCatalog) -> Executor:
    """Return what runs trials: this process, or the Temporal server at an address."""
    if on is None:
        return HERE
    address = TemporalAddress.parse(on, "--on")
    require_temporal("--on temporal://")
    executor: Executor = load("clerkship.service.temporal.executor:TemporalExecutor")(address, catalog)
    return executor


def print_recording(console: Console, report: RecordingReport | None) -> None:
    """Print how many entries were recorded or replayed, where they are, and what is missing."""
    if report is None:
        return
    parts = [
        f"{report.written:,} recorded" if report.mode != "replay" else "",
        f"{report.replayed:,} replayed" if report.mode != "record" else "",
        f"{report.dropped:,} dropped" if report.dropped else "",
    ]
    more = len(report.files) - MAX_FILES
    files = [*report.files[:MAX_FILES], *([f"… and {more}"] if more > 0 else [])]
    cassettes = f"  {escape('  '.join(files))}" if files else "  [quiet]no cassette[/]"
    console.print(f"[quiet]{report.mode}[/] {', '.join(filter(None, parts))}{cassettes}", soft_wrap=True)
    if report.forgotten:
        answers = "1 answer" if report.forgotten == 1 else f"{report.forgotten:,} answers"
        console.print(f"[quiet]{answers} of an invalid person: not recorded[/]")
    if report.unused:
        console.print(f"[quiet]{report.unused:,} recorded answers of these trials were not used[/]")
    if report.failed:
        console.print(f"[errored]not recorded:[/] {escape(report.failed)}", soft_wrap=True)
    print_unrecorded_trials(console, report.missed)
