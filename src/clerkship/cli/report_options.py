"""The options of commands that write reports or store a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from clerkship.cli.options import Json, StoreOption
from clerkship.model.errors import InputError
from clerkship.model.store_place import StorePlace, parse_store_place
from clerkship.report.markdown_page import MAX_COMMENT_BYTES, MAX_SUMMARY_BYTES, MIN_PAGE_BYTES
from clerkship.service.report_targets import ExportTargets, ReportTargets, ResultsFolder, check_writable


def _report_option(name: str, metavar: str, help: str, minimum: int | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=help, min=minimum, rich_help_panel="Reports")


Report = Annotated[Path | None, _report_option("--report", "FILE", "Write an HTML report.")]
Junit = Annotated[Path | None, _report_option("--junit", "FILE", "Write JUnit XML.")]
Jsonl = Annotated[Path | None, _report_option("--jsonl", "FILE", "Write all records and events as JSON Lines.")]
Markdown = Annotated[Path | None, _report_option("--markdown", "FILE", "Write a Markdown summary.")]
MarkdownLimit = Annotated[
    int,
    _report_option(
        "--markdown-limit", "BYTES", f"Maximum size of the Markdown; {MAX_COMMENT_BYTES} for a comment.", MIN_PAGE_BYTES
    ),
]
Results = Annotated[
    str | None,
    _report_option("--results", "rasa[:DIR]", "Write results in Rasa's layout, to eval/results or DIR."),
]
Csv = Annotated[Path | None, _report_option("--csv", "FILE", "Write the results as CSV, one row per trial.")]
Atif = Annotated[
    Path | None, _report_option("--atif", "DIR", "Write each trial as a trajectory in Harbor's format, ATIF.")
]
Inspect = Annotated[Path | None, _report_option("--inspect", "DIR", "Write each run as a log of Inspect, .eval.")]


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Where to write results for analysts and other harnesses."""

    csv: Csv = None
    atif: Atif = None
    inspect: Inspect = None

    def exports(self) -> ExportTargets:
        """Return what to export."""
        return ExportTargets(csv=self.csv, atif=self.atif, inspect=self.inspect)


@dataclass(frozen=True, kw_only=True)
class ReportOptions(ExportOptions):
    """Where to write reports."""

    report: Report = None
    junit: Junit = None
    jsonl: Jsonl = None
    markdown: Markdown = None
    markdown_limit: MarkdownLimit = MAX_SUMMARY_BYTES

    def reports(self, results: str | None = None) -> ReportTargets:
        """Return the reports to write."""
        return ReportTargets(
            html=self.report,
            junit=self.junit,
            jsonl=self.jsonl,
            markdown=self.markdown,
            markdown_limit=self.markdown_limit,
            results=ResultsFolder.parse(results) if results is not None else None,
            exports=self.exports(),
        )


@dataclass(frozen=True, kw_only=True)
class OutputOptions(ReportOptions):
    """Where to store a run, where to write reports, and how to print it."""

    store: StoreOption = None
    json: Json = False

    @property
    def place(self) -> StorePlace | None:
        """Where to store it, if another place than that of the settings."""
        return None if self.store is None else parse_store_place(self.store)

    def reports(self, results: str | None = None) -> ReportTargets:
        """Return the reports to write after a run; raise InputError if one could not be written."""
        targets = super().reports(results)
        if targets.to_stdout():
            hint = "`clerkship show latest` can write a report to `-`"
            raise InputError.of("`-` is not possible here: standard output has the verdicts", hint=hint)
        check_writable(targets)
        return targets
