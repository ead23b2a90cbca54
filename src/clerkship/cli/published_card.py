"""Prints the card of a published version."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Column

from clerkship.cli.console import number_column, plain_table, text_column
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.report.labels import axis_name
from clerkship.report.published_version import DIGEST_LENGTH
from clerkship.service.published_card import VersionCard
from clerkship.suite_files.published.results import PublishedScore

MAX_TAGS = 20
"""Tags that are printed; --json has all of them."""
MAX_NAMED_AGENTS = 4
"""Agents that are named in a note."""


def print_card(console: Console, card: VersionCard) -> None:
    """Print what a version tests and needs, and the scores on it."""
    manifest, benchmark, withdrawn = card.archive.manifest, card.archive.manifest.benchmark, card.results.withdrawn
    title = f"  {escape(benchmark.name)}" if benchmark.name != benchmark.slug else ""
    console.print(f"[bold]{manifest.name}[/]{title}", soft_wrap=True)
    if withdrawn is not None:
        console.print(f"[fail]withdrawn[/] {withdrawn.at[:10]}: {escape(withdrawn.reason)}", soft_wrap=True)
    if benchmark.description:
        console.print(escape(benchmark.description.strip()))
    console.print()
    table = plain_table(Column(no_wrap=True, style="quiet"), text_column(""))
    table.show_header = False
    for key, text in _list_facts(card):
        table.add_row(key, escape(text))
    console.print(table)
    _print_all_scores(console, card)


def _list_facts(card: VersionCard) -> Iterator[tuple[str, str]]:
    manifest, benchmark = card.archive.manifest, card.archive.manifest.benchmark
    yield "tasks", f"{len(manifest.tasks)}{', for agents: without criteria and solutions' * manifest.for_agents}"
    yield "interfaces", _count(card.interfaces)
    if card.levels:
        yield "levels", _count(card.levels)
    if card.axes:
        yield "axes", _count({axis_name(axis or None): count for axis, count in card.axes.items()}, "criteria")
    if card.tags:
        yield "tags", _count(card.tags)
    yield "licence", benchmark.licence or "not stated"
    yield "authors", ", ".join(benchmark.authors) or "not stated"
    for number, limit in enumerate(benchmark.limits):
        yield "limits" if not number else "", limit
    needs = [f"clerkship[{extra}]" for extra in manifest.extras]
    needs += [f"{name} {version}" for name, version in manifest.plugins.items()]
    missing = f"; not installed: {', '.join(card.missing)}" if card.missing else ""
    yield "needs", (", ".join(needs) or "nothing else") + missing
    other = f"; this program has {GRADING_VERSION}" if manifest.grading != GRADING_VERSION else ""
    yield "grading version", f"{manifest.grading}{other}"
    yield "signature", card.signature
    yield "size", f"{card.size / 1e6:.1f} MB"
    yield "digest", f"sha256:{card.archive.digest}"
    if manifest.complete:
        yield "complete version", f"sha256:{manifest.complete}"
    yield "file", str(card.archive.path)


def _count(counts: Mapping[str, int], noun: str = "") -> str:
    """Return names with their numbers; the first has the noun that is counted."""
    parts = [f"{name} ({count}{f' {noun}' if noun else ''})" for name, count in list(counts.items())[:1]]
    parts += [f"{name} ({count})" for name, count in list(counts.items())[1:MAX_TAGS]]
    return ", ".join([*parts, *([f"and {len(counts) - MAX_TAGS} more"] if len(counts) > MAX_TAGS else [])])


def _print_all_scores(console: Console, card: VersionCard) -> None:
    """Print a table for each grading version."""
    if not card.results.scores:
        name = card.archive.manifest.name
        hint = f"clerkship published verify {name}, clerkship suite attack {name}, clerkship suite mutate {name}"
        console.print(f"\nno scores are recorded; [quiet]{hint}[/]", soft_wrap=True)
    for grading, scores in groupby(card.results.scores, key=lambda score: score.grading):
        console.print(f"\nscores with grading version {escape(grading)}")
        print_scores(console, list(scores))


def print_scores(console: Console, scores: Sequence[PublishedScore]) -> None:
    """Print who got what, `oracle` and `nop` first."""
    titles = ("results", "passed", "not as expected", "mean score")
    dates = (Column(title, no_wrap=True) for title in ("date", "digest of the run"))
    columns = (Column("agent", no_wrap=True), *map(number_column, titles), *dates, Column("run"))
    table = plain_table(*columns)
    for score in sorted(scores, key=_get_rank):
        unexpected = f"[fail]{score.unexpected}[/]" if score.unexpected else "0"
        mean = "" if score.mean is None else f"{score.mean:.2f}"
        numbers = (str(score.total), str(score.passed), unexpected, mean)
        table.add_row(escape(score.agent), *numbers, score.at[:10], score.digest[:DIGEST_LENGTH], escape(score.run))
    console.print(table)
    notes: dict[str, list[str]] = {}
    for score in scores:
        for note in _list_notes(score):
            notes.setdefault(note, []).append(score.agent)
    for note, agents in notes.items():
        named = ", ".join(agents) if len(agents) <= MAX_NAMED_AGENTS else f"{len(agents)} agents"
        console.print(f"[quiet]{escape(named)}: {note}[/]", soft_wrap=True)


def _get_rank(score: PublishedScore) -> tuple[int, str]:
    first = ("oracle", "nop")
    return first.index(score.agent) if score.agent in first else len(first), score.agent


def _list_notes(score: PublishedScore) -> Iterable[str]:
    if score.ungraded:
        yield f"{score.ungraded} ungraded"
    if score.broken:
        yield f"{score.broken} without a verdict"
    if score.left_out:
        yield f"{score.left_out} more mutants were not run (--all runs them)"
    if score.unjudged:
        yield f"{score.unjudged} tasks have criteria that only a model can judge; these were skipped"
