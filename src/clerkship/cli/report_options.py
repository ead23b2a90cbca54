"""The options of commands that write reports or keep a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from clerkship.cli.options import Json, StorePath
from clerkship.model.errors import InputError
from clerkship.report.markdown_page import MAX_COMMENT_BYTES, MAX_SUMMARY_BYTES, MIN_PAGE_BYTES
from clerkship.service.report_targets import ResultsFolder, Targets, check_writable


def _report_option(name: str, metavar: str, help: str, least: int | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=help, min=least, rich_help_panel="Reports")


Report = Annotated[Path | None, _report_option("--report", "FILE", "Write the HTML report there.")]
Junit = Annotated[Path | None, _report_option("--junit", "FILE", "Write JUnit XML there, for continuous integration.")]
Jsonl = Annotated[Path | None, _report_option("--jsonl", "FILE", "Write everything there, events too, as JSON Lines.")]
Markdown = Annotated[
    Path | None, _report_option("--markdown", "FILE", "Write a summary there, for a job or a comment.")
]
MarkdownLimit = Annotated[
    int,
    _report_option(
        "--markdown-limit", "BYTES", f"Most it may have; a comment takes {MAX_COMMENT_BYTES}.", MIN_PAGE_BYTES
    ),
]
Results = Annotated[
    str | None,
    _report_option("--results", "rasa[:DIR]", "Write results as Rasa's evaluation does, to eval/results or to DIR."),
]


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Which reports of a run are written, and where."""

    report: Report = None
    junit: Junit = None
    jsonl: Jsonl = None
    markdown: Markdown = None
    markdown_limit: MarkdownLimit = MAX_SUMMARY_BYTES

    def reports(self, results: str | None = None) -> Targets:
        """Return the reports to write."""
        return Targets(
            html=self.report,
            junit=self.junit,
            jsonl=self.jsonl,
            markdown=self.markdown,
            markdown_limit=self.markdown_limit,
            results=ResultsFolder.parse(results) if results is not None else None,
        )


@dataclass(frozen=True, kw_only=True)
class OutputOptions(ReportOptions):
    """Where a run is kept, which reports are written of it, and how it is printed."""

    store: StorePath = None
    json: Json = False

    def reports(self, results: str | None = None) -> Targets:
        """Return the reports to write after a run; raise InputError if one could not be written."""
        targets = super().reports(results)
        if targets.to_stdout():
            hint = "`clerkship show latest` writes a report to -"
            raise InputError.of("standard output is for the verdicts", hint=hint)
        check_writable(targets)
        return targets
