"""The list of runs: filtered, sorted, a part at a time; labels and deletion."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from typing import Any

import orjson

from clerkship.kit.statistics import wilson_interval
from clerkship.report.outcome import count_outcomes
from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.service.run_list import ListedRun, RunFilter, label_run, list_tags, name_benchmark, select_runs
from clerkship.settings import get_command_prefix
from clerkship.store.contract import Store, UnknownRun
from clerkship.viewer.answering import reply_with_page
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.templates import render

PAGE_SIZE = 50
MAX_NAMED_RUNS = 100
"""Runs that one request names."""
_SORTS: dict[str, Callable[[ListedRun], Any]] = {
    "rate": lambda listed: listed.counts.passed / listed.counts.graded if listed.counts.graded else -1.0,
    "agent": lambda listed: listed.run.solver,
    "benchmark": lambda listed: name_benchmark(listed.run),
}
"""What the list is sorted by, besides the order in which runs were saved."""


def show_runs(context: ViewerContext, request: Request) -> Reply:
    """Show the list of runs."""
    return reply_with_page(render("runs.html", context, title="Runs", data=_select(context, request)))


def read_runs(context: ViewerContext, request: Request) -> Reply:
    """Return a part of the list, or the runs that the request names."""
    named = [value for name, value in request.pairs if name == "run"]
    return json_reply(200, _read_named(context, named) if named else _select(context, request))


def _read_named(context: ViewerContext, named: Sequence[str]) -> dict[str, Any]:
    """Return runs by their ids; those that the reader has not, or that were deleted, are left out."""
    if len(named) > MAX_NAMED_RUNS:
        raise Refusal(400, "too_many", f"at most {MAX_NAMED_RUNS} runs may be named")
    rows = []
    with context.open_store() as store:
        labels = store.labels()
        for run_id in filter(context.lists, named):
            with suppress(UnknownRun):
                run = store.run(run_id)
                rows.append(_build_row(context, store, ListedRun(run, store.counts(run.id), labels.get(run.id, ""))))
    return {"runs": rows, "next": None}


def parse_filter(request: Request) -> RunFilter:
    """Return which runs the query of an address chooses."""
    return RunFilter(**{field.name: request.query.get(field.name, "") for field in fields(RunFilter)})


def list_visible(context: ViewerContext, store: Store, damaged: list[str] | None = None) -> list[ListedRun]:
    """Return all runs of a reader's list, newest first."""
    return [listed for listed in select_runs(store, damaged=damaged) if context.lists(listed.run.id)]


def _select(context: ViewerContext, request: Request) -> dict[str, Any]:
    choice, sort, damaged = parse_filter(request), request.query.get("sort", ""), list[str]()
    after = request.query.get("after", "0")
    if not (after.isascii() and after.isdigit()) or len(after) > 9:
        raise Refusal(400, "bad_after", "`after` is a number of runs")
    if sort.lstrip("-") not in ("", *_SORTS):
        raise Refusal(400, "bad_sort", f"the list is sorted by {', '.join(_SORTS)}")
    with context.open_store() as store:
        visible = list_visible(context, store, damaged)
        chosen = [each for each in visible if choice.matches(store, each)]
        if sort:
            chosen.sort(key=_SORTS[sort.lstrip("-")], reverse=sort.startswith("-"))
        shown = chosen[int(after) : int(after) + PAGE_SIZE]
        return {
            "runs": [_build_row(context, store, each) for each in shown],
            "next": str(int(after) + PAGE_SIZE) if int(after) + PAGE_SIZE < len(chosen) else None,
            "total": len(chosen),
            "all": len(visible),
            "choices": _list_choices(store, visible),
            "command": _describe_command(context, choice, min(len(chosen), int(after) + PAGE_SIZE)),
            "program": get_command_prefix() if context.store_option is not None else "",
            "store_option": context.store_option or "",
            "can_change": context.can_change,
            "damaged": damaged if context.can_change else [],
        }


def _build_row(context: ViewerContext, store: Store, listed: ListedRun) -> dict[str, Any]:
    run, counts, label = listed
    is_running = run.status == "active" and store.held(run.id)
    interval = wilson_interval(counts.passed, counts.graded)
    status = "running" if is_running else "interrupted" if run.status == "active" else run.status
    return {
        "id": run.id,
        "label": label,
        "name": run.name,
        "benchmark": name_benchmark(run),
        "agent": run.solver,
        "commit": run.commit,
        "started": run.started_at,
        "seconds": _count_seconds(run.started_at, run.completed_at) if not run.is_replayed else None,
        "status": status,
        "changed": store.check_head(run.id).is_changed,
        "lineage": run.lineage,
        "origin": run.origin,
        "tags": list_tags(store, run),
        "total": run.total,
        "done": counts.done,
        "passed": counts.passed,
        "graded": counts.graded,
        "rate": list(interval) if interval is not None else None,
        "outcomes": {name: number for name, number in count_outcomes(counts).items() if number},
        "can_open": context.may_see(run.id),
    }


def _count_seconds(started: str, ended: str | None) -> float | None:
    if ended is None:
        return None
    return max((datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds(), 0.0)


def _list_choices(store: Store, visible: Sequence[ListedRun]) -> dict[str, list[str]]:
    """Return the values that the list can be filtered by."""

    def sort(values: Iterable[str]) -> list[str]:
        return sorted({value for value in values if value})

    outcomes = {name for each in visible for name, number in count_outcomes(each.counts).items() if number}
    return {
        "benchmark": sort(name_benchmark(each.run) for each in visible),
        "agent": sort(each.run.solver for each in visible),
        "tag": sort(tag for each in visible for tag in list_tags(store, each.run)),
        "verdict": sort(outcomes),
        "label": sort(each.label for each in visible),
    }


def _describe_command(context: ViewerContext, choice: RunFilter, limit: int) -> str:
    if context.store_option is None:
        return ""
    return f"{get_command_prefix()} list -n {max(limit, 1)}{choice.options()}{context.store_option}"


def label(context: ViewerContext, request: Request, run: str) -> Reply:
    """Label a run."""
    try:
        text = orjson.loads(request.body)["label"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise Refusal(400, "bad_label", 'the body is `{"label": "text"}`')
    with context.open_store() as store:
        run_id = label_run(store, run, text)
        saved = store.labels().get(run_id, "")
    return json_reply(200, {"run": run_id, "label": saved})


def delete(context: ViewerContext, request: Request, run: str) -> Reply:
    """Delete a run, which is named by its whole id."""
    with context.open_store() as store:
        context.forget(run)
        store.delete(run)
    return json_reply(200, {"run": run, "deleted": True})
