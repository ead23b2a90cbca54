"""A run as one HTML file that opens from disk, asks the network for nothing, and trusts no string in it."""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from string import Template

from clerkship.model.run import BenchmarkRun, Counts
from clerkship.model.seals import SealCheck
from clerkship.report.budget import fit
from clerkship.report.detail import TaskDetail
from clerkship.report.embed import render_json
from clerkship.report.header import render_header, render_table
from clerkship.report.judged import Judged
from clerkship.report.outcome import CHANGED, OUTCOMES, urgency
from clerkship.report.repeats import Repeats, rates, repeats
from clerkship.report.templates import Templates

_PARTS = Path(__file__).parent / "page"
_SCRIPTS = ("dom", "value", "list", "criteria", "conversation", "timeline", "trial", "start")


def render_html(
    run: BenchmarkRun,
    counts: Counts,
    details: Iterable[TaskDetail],
    judged: Judged | None = None,
    seals: SealCheck | None = None,
) -> str:
    """The page. The same run gives the same bytes: nothing here asks what time it is."""
    changed = seals.changed_trials() if seals is not None else {}
    marked = (replace(detail, changed=changed.get(detail.task_run.outcome()[:3], "")) for detail in details)
    urgent_first = sorted(marked, key=lambda detail: (not detail.changed, urgency(detail.task_run)))
    judged = judged or Judged.of(run)
    for detail in urgent_first:
        judged.add(detail.task_run)
    style, script = read_part("style.css"), "\n".join(read_part(f"{name}.js") for name in _SCRIPTS)
    outcomes = {"changed": CHANGED, **OUTCOMES}
    data = {"run": run.id, "outcomes": outcomes, "trials": fit(urgent_first, replayed=run.replayed)}
    return Template(read_part("page.html")).substitute(
        policy=policy(style, script),
        title=escape(f"{run.name}: {run.solver}"),
        style=style,
        icons=read_part("icons.svg"),
        header=render_header(run, counts, _repeats(run, urgent_first), judged, _templates(urgent_first), seals),
        table=render_table(urgent_first),
        data=render_json(data).decode(),
        script=script,
    )


def _repeats(run: BenchmarkRun, details: list[TaskDetail]) -> Repeats | None:
    return repeats(rates(detail.task_run for detail in details).values()) if run.trials > 1 else None


def _templates(details: list[TaskDetail]) -> Templates:
    return Templates(detail.task_run for detail in details)


def policy(style: str, script: str = "") -> str:
    """Allow these two texts alone, by their hashes; nothing may be fetched, framed or submitted."""
    scripts = f"script-src {_hash(script)}; " if script else ""
    rules = f"default-src 'none'; {scripts}style-src {_hash(style)}; img-src data:"
    return f"{rules}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def read_part(name: str) -> str:
    """A file that pages are put together from."""
    return (_PARTS / name).read_text(encoding="utf-8")
