"""`clerkship published`: list, show, compare, verify and withdraw published versions."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column

from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import (
    err,
    number_column,
    out,
    plain_table,
    print_json,
    print_problem,
    print_warning,
    text_column,
)
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, StoreOption
from clerkship.cli.published_card import print_card, print_scores
from clerkship.cli.suite import AttackProgress, print_recorded
from clerkship.model.errors import InputError
from clerkship.report.published_version import DIGEST_LENGTH
from clerkship.service.published_versions import (
    ListedVersion,
    VerifiedAgent,
    Verifier,
    VerifyRequest,
    VersionVerification,
    compare_versions,
    describe_version,
    list_versions,
    restore_version,
    withdraw_version,
)
from clerkship.settings import load_settings
from clerkship.store.opening import open_store
from clerkship.suite_files.published.comparing import VersionDifference

MAX_TASKS = 10
"""Tasks printed for one agent; --json has all of them."""
Version = Annotated[
    Path, typer.Argument(metavar="VERSION", help="Published version: a name such as chart@1, a digest, or a file.")
]


def list_published(json: Json = False) -> None:
    """List the published versions that can be run by name.

    They lie in `.clerkship/published` of this folder and of the folders above it, or are installed with Clerkship.

    Exit codes: 0, or 2 if one of them is damaged.

    Examples:

        clerkship published list
    """
    versions, problems = list_versions()
    if json:
        print_json([_to_data(each) for each in versions])
    else:
        _print_versions(versions)
    for problem in problems:
        print_problem(problem, err())
    raise typer.Exit(2 if problems else 0)


def _to_data(listed: ListedVersion) -> dict[str, object]:
    archive = listed.archive
    return {
        "name": archive.manifest.name,
        "for_agents": archive.manifest.for_agents,
        "tasks": len(archive.manifest.tasks),
        "grading": archive.manifest.grading,
        "digest": f"sha256:{archive.digest}",
        "path": str(archive.path),
        "bytes": archive.path.stat().st_size,
        "withdrawn": listed.withdrawn,
    }


def _print_versions(versions: list[ListedVersion]) -> None:
    console = out()
    if not versions:
        console.print("[quiet]there is none; publish a suite: clerkship publish FOLDER --as SLUG@1[/]", soft_wrap=True)
        return
    no_wrap = (Column(title, no_wrap=True) for title in ("version", "status"))
    table = plain_table(*no_wrap, *map(number_column, ("tasks", "MB")), text_column("digest"), text_column("file"))
    for each in versions:
        archive, withdrawn = each.archive, each.withdrawn
        status = "[fail]withdrawn[/]" if withdrawn else "for agents" if archive.manifest.for_agents else ""
        size = f"{archive.path.stat().st_size / 1e6:.1f}"
        digest = f"sha256:{archive.digest[:DIGEST_LENGTH]}"
        table.add_row(
            archive.manifest.name,
            status,
            str(len(archive.manifest.tasks)),
            size,
            digest,
            escape(_shorten(archive.path)),
        )
    console.print(table)
    reasons = {each.archive.manifest.name: each.withdrawn.reason for each in versions if each.withdrawn}
    for name, reason in reasons.items():
        console.print(f"{name} was withdrawn: {escape(reason)}", soft_wrap=True)


def _shorten(path: Path) -> str:
    """Return a path relative to the current folder, if it is inside."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def show(version: Version, json: Json = False) -> None:
    """Show what a published version tests and needs, and who scored what on it.

    Scores are those that `published verify`, `suite attack` and `suite mutate` have recorded beside it, for each
    version of the grading rules. Neither the digest of the version nor its signature covers them.

    Exit codes: 0, or 2 if there is no such version or it is damaged.

    Examples:

        clerkship published show chart@1
    """
    card = describe_version(version, load_settings())
    if json:
        print_json(card.data())
    else:
        print_card(out(), card)


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="Published version: a name, a digest, or a file.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The version to compare with it.")],
    json: Json = False,
) -> None:
    """Show in words how two published versions differ.

    It names the tasks that were added, removed and changed, and in each changed task which criterion, which step and
    which record.

    Exit codes: 0 the same content, 1 different content, 2 invalid input.

    Examples:

        clerkship published diff chart@1 chart@2
    """
    differences = compare_versions(before, after)
    if json:
        print_json({"differences": [each._asdict() for each in differences]})
    elif not differences:
        out().print("[pass]✓[/] the same content")
    else:
        _print_differences(out(), differences)
    raise typer.Exit(1 if differences else 0)


def _print_differences(console: Console, differences: list[VersionDifference]) -> None:
    """Print the differences under the task, environment or dataset in which they are."""
    for number, (place, inside) in enumerate(groupby(differences, key=lambda each: each.place)):
        if place and number:
            console.print()
        if place:
            console.print(f"[bold]{escape(place)}[/]", soft_wrap=True)
        for difference in inside:
            console.print(f"{'  ' if place else ''}{escape(difference.text)}", soft_wrap=True)
    count = len(differences)
    console.print(f"\n[partial]{count} difference{'s' * (count != 1)}[/]")


@grouped
def verify(request: VerifyRequest, store: StoreOption = None, json: Json = False) -> None:
    """Check that a published version is unchanged, and that its tasks can be solved and are not passed by doing
    nothing.

    It compares every entry with its hash and checks the signature. Then it runs `oracle` (the solutions), which must
    pass every task, and `nop` (does nothing), which must pass none. Their scores are recorded for `published show`. A
    version for agents has no solutions, so only `nop` is run. Recorded answers of models are used if the version has
    some and no model is given.

    Exit codes: 0 all as it must be, 1 a result is not, 2 damaged, errored or invalid input, 130 interrupted.

    Examples:

        clerkship published verify chart@1
    """
    settings, catalog = load_settings(), build_catalog()
    with (
        open_store(settings, store, create=True) as opened,
        agents_print_to_stderr(),
        AttackProgress(out(), 2, quiet=json) as progress,
    ):
        verifier = Verifier(settings=settings, catalog=catalog, store=opened, follow=progress.follow_agent)
        verification = verifier.verify(request)
    if json:
        print_json(_describe_verification(verification))
    else:
        _print_verification(out(), verification)
    raise typer.Exit(verification.exit_code())


def _describe_verification(verification: VersionVerification) -> dict[str, object]:
    manifest = verification.archive.manifest
    return {
        "name": manifest.name,
        "digest": f"sha256:{verification.archive.digest}",
        "entries": len(manifest.entries),
        "signature": verification.signature,
        "agents": [each.score.model_dump() | _list_problems(each) for each in verification.agents],
        "warnings": list(map(str, verification.warnings)),
        "recorded": verification.recorded,
        "exit_code": verification.exit_code(),
    }


def _list_problems(agent: VerifiedAgent) -> dict[str, object]:
    return {"unexpected_tasks": agent.unexpected, "broken_tasks": agent.broken}


def _print_verification(console: Console, verification: VersionVerification) -> None:
    archive, manifest = verification.archive, verification.archive.manifest
    console.print(f"[bold]{manifest.name}[/]  [quiet]sha256:{archive.digest}[/]", soft_wrap=True)
    console.print(f"[pass]✓[/] all {len(manifest.entries):,} entries are as published")
    console.print(f"  {escape(verification.signature)}", soft_wrap=True)
    if manifest.for_agents:
        console.print("  it is for agents and has no solutions, so only nop was run")
    for warning in verification.warnings:
        print_warning(warning, console)
    if verification.agents:
        print_scores(console, [each.score for each in verification.agents])
    for agent in verification.agents:
        _print_problems(console, agent.score.agent, agent.unexpected, "[fail]✗[/]")
        _print_problems(console, agent.score.agent, agent.broken, "[errored]![/] no verdict:")
    if verification.recorded is not None:
        print_recorded(console, Path(_shorten(verification.recorded)))
    else:
        console.print("[cancelled]interrupted: nothing was recorded[/]")


def _print_problems(console: Console, agent: str, tasks: Mapping[str, str], mark: str) -> None:
    for task, reason in list(tasks.items())[:MAX_TASKS]:
        console.print(f"{mark} {agent}: {escape(task)}: {escape(reason)}", soft_wrap=True)
    if len(tasks) > MAX_TASKS:
        console.print(f"    [quiet]and {len(tasks) - MAX_TASKS} more (--json lists them)[/]")


def withdraw(
    version: Version,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why. It is shown to all who name the version.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Allow it to be run again.")] = False,
    json: Json = False,
) -> None:
    """Withdraw a published version, so that it can no longer be run by name.

    Its name is refused with the reason, and `slug@latest` is the newest version that is not withdrawn. The file stays
    as it is, and so do runs of it: `show`, `compare`, `rerun` and `rescore` work on them. Only people who share the
    file beside the archive know that it is withdrawn.

    Exit codes: 0 done, 2 invalid input.

    Examples:

        clerkship published withdraw clinic@1 --reason "two tasks had a wrong date; use clinic@2"

        clerkship published withdraw clinic@1 --undo
    """
    if undo and reason is not None:
        raise InputError.of("--undo and --reason exclude each other", hint="give one of them")
    archive = restore_version(version) if undo else withdraw_version(version, reason or "")
    name = archive.manifest.name
    if json:
        print_json({"name": name, "digest": f"sha256:{archive.digest}", "withdrawn": None if undo else reason})
    elif undo:
        out().print(f"[pass]✓[/] {name} can be run again")
    else:
        out().print(f"[pass]✓[/] {name} is withdrawn: {escape(reason or '')}", soft_wrap=True)
        out().print(f"  [quiet]undo it: clerkship published withdraw {escape(str(version))} --undo[/]", soft_wrap=True)
