"""Measure what agents score on the shipped suites, and write the tables of docs/guide/how_hard_is_it.md.

uv run --group dev python -m scripts.how_hard [prior-auth ...] [--without mutants]

Without names, all suites are measured. A suite that is not measured keeps its row, what is left out its cells.
"""

import argparse
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from benchmarks.page import replace_block
from benchmarks.table import render_table
from clerkship.engine.catalog import RegisteredCatalog, build_catalog_without_plugins
from clerkship.model.run import TaskRun
from clerkship.model.task import LEVELS
from clerkship.service.attacking import AttackOutcome, AttackReport, AttackRequest, attack
from clerkship.service.mutating import MutateRequest, MutationReport, mutate
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guide" / "how_hard_is_it.md"
SUITES = {path.name: path for path in sorted((ROOT / "suites").glob("*/"))}
DETAILED = "prior-auth"
"""The suite whose tasks and attackers have tables of their own."""
PARTS = ("attacks", "mutants")
"""What takes long, and can be left out."""
VARIANTS = ("wrong", "ways")
MAX_RUNS = 1_000_000
Table = dict[str, dict[str, str]]
"""The cells of a table, by row and column. The first column has the names of the rows."""


@dataclass(frozen=True)
class SuiteResult:
    """What was measured of a suite. Reports that were not asked for are None."""

    name: str
    reference: Mapping[str, TaskRun]
    """The trials of `oracle`, by task."""
    nop: Mapping[str, TaskRun]
    attacks: AttackReport | None = None
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The scores of each attacker, by task."""
    mutants: MutationReport | None = None


def main() -> None:
    """Parse the command line, measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--without", nargs="+", choices=PARTS, default=())
    options = parser.parse_args()
    if unknown := sorted(set(options.suites) - SUITES.keys()):
        parser.error(f"no suite {', '.join(unknown)} (expected: {', '.join(SUITES)})")
    for name in options.suites or SUITES:
        print(f"{name} ...", flush=True)
        result = measure(name, [part for part in PARTS if part not in options.without])
        PAGE.write_text(update_page(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


def measure(name: str, parts: Iterable[str] = PARTS) -> SuiteResult:
    """Run the reference solutions, `nop`, and what else is asked for."""
    path, settings, catalog = SUITES[name], Settings(timeout=60), build_catalog_without_plugins()
    with tempfile.TemporaryDirectory(prefix="clerkship-how-hard-") as folder:
        with SqliteStore(Path(folder, "store.db")) as store:
            reference, nop = (run_agent(path, agent, store, settings, catalog) for agent in ("oracle", "nop"))
        result = SuiteResult(name, reference, nop)
        if "attacks" in parts:
            file = Path(folder, "attacks.db")
            request = AttackRequest(path=path, store=file, **recording_options(path))
            result = replace(result, attacks=attack(request, settings, catalog), scores=read_scores(file))
    return (
        replace(result, mutants=mutate(MutateRequest(path=path), settings, catalog)) if "mutants" in parts else result
    )


def run_agent(
    path: Path, agent: str, store: SqliteStore, settings: Settings, catalog: RegisteredCatalog
) -> dict[str, TaskRun]:
    """Run an agent over a suite; return its trials by task."""
    plan = plan_run(RunRequest(path=path, agent=agent, **recording_options(path)), settings, catalog)
    return {run.task: run for run in store.task_runs(execute(plan, store, catalog).run.id)}


def recording_options(path: Path) -> dict[str, Any]:
    """Return the options with which recorded answers of models are used, if a suite has cassettes."""
    return {"tape": "replay"} if any(path.rglob("cassettes")) else {}


def read_scores(file: Path) -> dict[str, dict[str, float]]:
    """Return the scores of the attackers in a store, by strategy and task."""
    scores: dict[str, dict[str, float]] = {}
    with SqliteStore(file) as store:
        for run, _ in store.runs(MAX_RUNS):
            trials = {each.task: each.score for each in store.task_runs(run.id)}
            found = {task: score for task, score in trials.items() if score is not None}
            scores.setdefault(run.solver.removeprefix("attack:"), {}).update(found)
    return scores


# The tables


def update_page(page: str, result: SuiteResult) -> str:
    """Return the page with what was measured of a suite."""
    tasks = sorted(result.reference.values(), key=lambda run: (LEVELS.index(find_level(run.tags)), run.task))
    page = write_table(page, "suites", [f"`{name}`" for name in SUITES], {f"`{result.name}`": describe_suite(result)})
    if result.name == DETAILED:
        rows = {run.task: describe_task(result, run.task) for run in tasks}
        page = write_table(page, "tasks", list(rows), rows)
        attackers = describe_attackers(result)
        page = write_table(page, "attackers", list(attackers or read_table(page, "attackers")), attackers)
    return page


def describe_suite(result: SuiteResult) -> dict[str, str]:
    """Return the cells of a suite."""
    tasks = tuple(result.reference)
    return {
        "tasks": str(len(tasks)),
        "reference passes": count_passed(result.reference.values()),
        "`nop` passes": count_passed(result.nop.values()),
        "mean score of `nop`": describe_mean(score_of(run) for run in result.nop.values()),
        **describe_reports(result, tasks),
    }


def describe_task(result: SuiteResult, task: str) -> dict[str, str]:
    """Return the cells of a task."""
    return {
        "level": find_level(result.reference[task].tags),
        "reference": describe_trial(result.reference[task]),
        "`nop`": describe_trial(result.nop[task]),
        **describe_reports(result, [task]),
    }


def describe_reports(result: SuiteResult, tasks: Sequence[str]) -> dict[str, str]:
    """Return the cells on attacks and mutants of some tasks."""
    cells = {}
    if result.attacks is not None:
        outcomes = {outcome.strategy.name: outcome for outcome in result.attacks.outcomes}
        attackers = [outcome for name, outcome in outcomes.items() if name not in VARIANTS]
        cells["attacks that pass"] = count_attacks(attackers, tasks, "passed")
        cells["wrong solutions that fail"] = count_attacks([outcomes["wrong"]], tasks, "failed")
        cells["other ways that pass"] = count_attacks([outcomes["ways"]], tasks, "passed")
    if result.mutants is not None:
        results = [each for each in result.mutants.results if each.task in tasks]
        counts = result.mutants.count(results)
        cells["mutants that fail"] = f"{counts['caught']} of {counts['caught'] + counts['survived']}"
    return cells


def describe_attackers(result: SuiteResult) -> Table:
    """Return the cells of each attacker that applies to a task."""
    rows: Table = {}
    for outcome in result.attacks.outcomes if result.attacks is not None else ():
        name, trials = outcome.strategy.name, len(outcome.passed) + len(outcome.failed)
        if name not in VARIANTS and trials:
            scores = [result.scores[name][task] for task in (*outcome.passed, *outcome.failed)]
            rows[f"`{name}`"] = {
                "what it does": outcome.strategy.summary,
                "passes": f"{len(outcome.passed)} of {trials}",
                "mean score": describe_mean(scores),
                "best score": f"{max(scores):.2f}",
            }
    return rows


def count_attacks(outcomes: Iterable[AttackOutcome], tasks: Sequence[str], verdict: Literal["passed", "failed"]) -> str:
    """Return how many attacks on some tasks passed or failed, of all that have a verdict.

    One that failed in another way than it must, such as on another criterion, does not count.
    """
    heads = tuple(f"{task}: " for task in tasks)

    def count(labels: Sequence[str]) -> int:
        return sum(label in tasks or label.startswith(heads) for label in labels)

    found = list(outcomes)
    total = sum(count((*each.passed, *each.failed)) for each in found)
    wrong = sum(count([label for label in each.failed if label in each.unexpected]) for each in found)
    reached = sum(count(getattr(each, verdict)) for each in found)
    return f"{reached - wrong if verdict == 'failed' else reached} of {total}"


def count_passed(runs: Iterable[TaskRun]) -> str:
    """Return how many trials passed."""
    verdicts = [run.verdict for run in runs]
    return f"{verdicts.count('pass')} of {len(verdicts)}"


def describe_trial(run: TaskRun) -> str:
    """Return the verdict and the score of a trial."""
    return f"{run.verdict or run.status}, {score_of(run):.2f}"


def describe_mean(scores: Iterable[float]) -> str:
    """Return the mean of some scores."""
    return f"{fmean(scores):.2f}"


def score_of(run: TaskRun) -> float:
    """Return the score of a trial: 0 if it has none."""
    return run.score or 0.0


def find_level(tags: Sequence[str]) -> str:
    """Return the level among the tags of a task; the first of all levels if it has none."""
    return next((level for level in LEVELS if level in tags), LEVELS[0])


def write_table(page: str, block: str, names: Sequence[str], rows: Table) -> str:
    """Return the page with other rows in a table. A cell that a row does not have stays as it is in the page."""
    head, old = read_head(page, block), read_table(page, block)
    merged = [{**old.get(name, {}), **rows.get(name, {})} for name in names]
    table = render_table(
        head, [(name, *(cells.get(key, "") for key in head[1:])) for name, cells in zip(names, merged, strict=True)]
    )
    if unknown := {key for cells in merged for key in cells} - set(head):
        raise KeyError(f"the table `{block}` has no column {', '.join(sorted(unknown))}")
    return replace_block(page, f"how hard: {block}", table)


def read_head(page: str, block: str) -> list[str]:
    """Return the columns of a table of the page."""
    return read_lines(page, block)[0]


def read_table(page: str, block: str) -> Table:
    """Return the cells of a table of the page."""
    head, _, *rows = read_lines(page, block)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def read_lines(page: str, block: str) -> list[list[str]]:
    """Return the cells of each line of a table."""
    found = re.search(rf"<!-- how hard: {block} -->\n(.*?)<!-- end -->", page, re.DOTALL)
    lines = [line for line in (found[1] if found else "").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


if __name__ == "__main__":
    main()
