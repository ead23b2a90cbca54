"""The results of runs as CSV, one row per trial, for spreadsheets and statistics programs."""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.model.usage import NO_USAGE
from clerkship.report.outcome import outcome
from clerkship.report.plain_text import failed_criteria, to_one_line

COLUMNS = (
    "run",
    "suite",
    "started_at",
    "agent",
    "seed",
    "task",
    "template",
    "trial",
    "attempt",
    "tags",
    "status",
    "verdict",
    "outcome",
    "score",
    "failed_criteria",
    "ending",
    "error",
    "seconds",
    "events",
    "model_calls",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "other_models_cost",
    "judge",
    "head",
)
"""The columns before those of the axes."""
SEPARATOR = "; "
MAX_ERROR_LENGTH = 500
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def list_axis_columns(trials: Iterable[TaskRun]) -> list[str]:
    """Return the axes of trials, sorted."""
    return sorted({axis for trial in trials for axis in trial.axes})


def render_header(axes: Iterable[str]) -> bytes:
    """Return the first line of the file."""
    return _render_row([*COLUMNS, *(f"axis {axis}" for axis in axes)])


def render_rows(
    run: BenchmarkRun, trials: Iterable[tuple[TaskRun, float | None]], axes: Iterable[str]
) -> Iterator[bytes]:
    """Yield a line for each trial of a run and its wall seconds. A cell is empty if its value is not known."""
    names = tuple(axes)
    for trial, seconds in trials:
        cells = _build_cells(run, trial, seconds)
        scores = [trial.axes[axis].score if axis in trial.axes else None for axis in names]
        yield _render_row([*(cells[column] for column in COLUMNS), *scores])


def _build_cells(run: BenchmarkRun, trial: TaskRun, seconds: float | None) -> dict[str, Any]:
    used = trial.models.get("agent", NO_USAGE)
    has_model = "agent" in trial.models
    others = [usage.cost for role, usage in trial.models.items() if role != "agent"]
    fields = ("task", "template", "trial", "attempt", "status", "verdict", "score", "ending", "events", "head")
    return {name: getattr(trial, name) for name in fields} | {
        "run": run.id,
        "suite": run.name,
        "started_at": run.started_at,
        "agent": run.solver,
        "seed": run.seed,
        "tags": SEPARATOR.join(trial.tags),
        "outcome": outcome(trial),
        "failed_criteria": SEPARATOR.join(criterion.label for criterion in failed_criteria(trial)),
        "error": to_one_line(trial.error or trial.agent_error)[:MAX_ERROR_LENGTH],
        "seconds": seconds,
        "model_calls": used.calls if has_model else None,
        "prompt_tokens": used.prompt_tokens if has_model else None,
        "completion_tokens": used.completion_tokens if has_model else None,
        "cost": used.cost if has_model else None,
        "other_models_cost": None if not others or None in others else sum(cost or 0.0 for cost in others),
        "judge": run.judge.who if run.judge is not None else None,
    }


def _render_row(cells: Iterable[Any]) -> bytes:
    line = StringIO()
    csv.writer(line).writerow([neutralize(cell) for cell in cells])
    return line.getvalue().encode(errors="replace")


def neutralize(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell
