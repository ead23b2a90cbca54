"""The agents on each version of a benchmark, with their pass rates over all runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clerkship.kit.statistics import Interval, wilson_interval
from clerkship.model.errors import InputError
from clerkship.model.published import PublishedVersion
from clerkship.sandbox.request import Reply, Request
from clerkship.service.run_list import ListedRun, name_benchmark
from clerkship.settings import get_command_prefix
from clerkship.suite_files.published.archive import open_archive
from clerkship.suite_files.published.places import find_version
from clerkship.suite_files.published.results import PublishedScore, read_results
from clerkship.viewer.answering import reply_with_page
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.runs import list_visible
from clerkship.viewer.templates import render


@dataclass
class AgentRow:
    """All runs of one agent on one version."""

    agent: str
    runs: int = 0
    passed: int = 0
    graded: int = 0

    @property
    def interval(self) -> Interval | None:
        """The rate with its interval."""
        return wilson_interval(self.passed, self.graded)

    @property
    def rate(self) -> float:
        """The rate, for sorting."""
        return self.passed / self.graded if self.graded else -1.0


@dataclass
class BenchmarkTable:
    """The agents on one version, the best first."""

    name: str
    version: PublishedVersion | None
    rows: dict[str, AgentRow] = field(default_factory=dict)
    recorded: Sequence[PublishedScore] = ()
    """What was recorded on the version itself: `oracle`, `nop`, attacks, mutants."""
    command: str = ""

    def add(self, listed: ListedRun) -> None:
        """Count a run."""
        row = self.rows.setdefault(listed.run.solver, AgentRow(listed.run.solver))
        row.runs += 1
        row.passed += listed.counts.passed
        row.graded += listed.counts.graded

    @property
    def ranked(self) -> list[AgentRow]:
        """The agents, the best first."""
        return sorted(self.rows.values(), key=lambda row: (-row.rate, row.agent))


def show_agents(context: ViewerContext, request: Request) -> Reply:
    """Show a table of agents for each version. A rescored run has the same trials as its original: it is left out."""
    tables: dict[tuple[str, str], BenchmarkTable] = {}
    with context.open_store() as store:
        for listed in list_visible(context, store):
            run = listed.run
            if run.made_by == "rescore":
                continue
            name = name_benchmark(run)
            version = run.published if run.published is not None and run.published.name == name else None
            key = (name, version.digest if version is not None else "")
            tables.setdefault(key, BenchmarkTable(name, version)).add(listed)
    for table in tables.values():
        _add_recorded(context, table)
    return reply_with_page(render("agents.html", context, title="Agents", tables=list(tables.values())))


def _add_recorded(context: ViewerContext, table: BenchmarkTable) -> None:
    """Add what is recorded on a published version, if it is on this machine."""
    options = f" --benchmark {table.name}{context.store_option}"
    table.command = "" if context.store_option is None else f"{get_command_prefix()} list{options}"
    if table.version is None:
        return
    try:
        archive = open_archive(find_version(Path(table.name)))
        if archive.digest == table.version.digest:
            table.recorded = read_results(archive).scores
    except InputError:  # it is not on this machine, or not readable
        return
