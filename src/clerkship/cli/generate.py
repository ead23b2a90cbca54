"""`clerkship generate`: drafts of scenario files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, TypeVar, get_args

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json, print_warning
from clerkship.cli.options import Json
from clerkship.model.errors import InputError
from clerkship.rasa.drafts.drafting import DraftFile, DraftRequest, DraftResult, draft_scenarios
from clerkship.rasa.drafts.kinds import KINDS
from clerkship.rasa.drafts.text import DraftTarget
from clerkship.settings import get_command_prefix, load_settings
from clerkship.suite_files.foreign import find_domain

_MAX_SHOWN = 40
T = TypeVar("T")


def scenarios(
    source: Annotated[
        list[Path],
        typer.Option("--from", metavar="PATH", help="Flows of a Rasa project: a file or a folder; may be repeated."),
    ],
    domain: Annotated[
        Path | None,
        typer.Option("--domain", metavar="PATH", help="Domain, a file or folder. [default: the project's]"),
    ] = None,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Target folder.")] = Path("eval/scenarios"),
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Model that fills them in: openai:model, openai:model@address, scripted:file. [default: none]",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help=f"Only this kind; may be repeated: {', '.join(KINDS)}."),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="TOOL",
            help="Tool that reads them: rasa (and Clerkship), or clerkship, with `type` and further assertions.",
        ),
    ] = "rasa",
    flow: Annotated[
        list[str] | None,
        typer.Option("--flow", metavar="ID", help="Only this flow; `*` is a wildcard; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, without requests or files.")
    ] = False,
    json: Json = False,
) -> None:
    """Draft scenario files from the flows of a Rasa project.

    There is one file for each flow and kind, and one for all flows: out_of_scope. The assertions follow from the flow.
    Without a model, the drafts have sample values and comments that say what to fill in. With a model, it writes the
    person and the criteria; the names it uses are checked against the domain. Existing files are not overwritten.

    Exit codes: 0, or 2 for invalid input or if the model could not be reached.

    Examples:

        clerkship generate scenarios --from data --domain domain.yml

        clerkship generate scenarios --from data --kind correction --model openai:gpt-5.1
    """
    request = DraftRequest(
        sources=tuple(source),
        to=to,
        domain=domain,
        model=model,
        kinds=tuple(kind or ()),
        target=_parse_target(target),
        flows=tuple(flow or ()),
        force=force,
        dry_run=dry_run,
    )
    drafts = draft_scenarios(request, load_settings(), build_catalog())
    if json:
        _print_json(drafts, dry_run=dry_run)
    else:
        _print_drafts(drafts, request)
    raise typer.Exit(drafts.exit_code())


def _parse_target(name: str) -> DraftTarget:
    for target in get_args(DraftTarget):
        if name == target:
            return target  # type: ignore[no-any-return]
    raise InputError.of(f"unknown --for value `{name}` (expected: {', '.join(get_args(DraftTarget))})")


def _print_json(drafts: DraftResult, *, dry_run: bool) -> None:
    print_json(
        {
            "dry_run": dry_run,
            "written": [
                {
                    "file": file.path,
                    "flow": None if file.draft.plan.refused else file.draft.plan.flow.id,
                    "kind": file.draft.plan.kind,
                    "by": file.draft.by or None,
                    "note": file.draft.note or None,
                }
                for file in drafts.written
            ],
            "kept": drafts.kept,
            "skipped": [dict(zip(("flow", "kind", "why"), skipped, strict=True)) for skipped in drafts.skipped],
            "warnings": [*map(str, drafts.warnings)],
            "domain": drafts.domain,
            "model": drafts.model,
            "usage": drafts.usage,
        }
    )


def _print_drafts(drafts: DraftResult, request: DraftRequest) -> None:
    console = out()

    def show_quiet(line: str) -> None:
        console.print(f"[quiet]{escape(line)}[/]", soft_wrap=True)

    _print_first(drafts.warnings, lambda warning: print_warning(warning, console), console)
    if drafts.domain is not None:
        console.print(f"[quiet]domain[/] {escape(drafts.domain)}", soft_wrap=True)
    _print_first(drafts.written, lambda file: _print_file(file, console, dry_run=request.dry_run), console)
    _print_first([f"= {path} stays as it is" for path in drafts.kept], show_quiet, console)
    skipped = [(f"{flow}, {kind.replace('_', ' ')}" if kind else flow, why) for flow, kind, why in drafts.skipped]
    _print_first([f"- {what}: {why}" for what, why in skipped], show_quiet, console)
    _print_summary(drafts, request, console)


def _print_first(items: Sequence[T], show: Callable[[T], None], console: Console) -> None:
    for item in items[:_MAX_SHOWN]:
        show(item)
    if len(items) > _MAX_SHOWN:
        console.print(f"[quiet]  and {len(items) - _MAX_SHOWN:,} more[/]")


def _print_file(file: DraftFile, console: Console, *, dry_run: bool) -> None:
    sign = "[quiet]would write[/]" if dry_run else "[pass]+[/]"
    console.print(f"{sign} {escape(str(file.path))}", soft_wrap=True)
    if file.draft.note:
        console.print(f"  [partial]![/] by rules: {escape(file.draft.note)}", soft_wrap=True)


def _print_summary(drafts: DraftResult, request: DraftRequest, console: Console) -> None:
    count = len(drafts.written)
    if drafts.model is not None:
        console.print(f"[quiet]{escape(_describe_usage(drafts))}[/]", soft_wrap=True)
    if not count:
        console.print("[quiet]Nothing to write.[/]" + (" --force overwrites existing files." if drafts.kept else ""))
        return
    if request.dry_run:
        console.print(f"\n{count} draft{'s' * (count != 1)} would be written; nothing was.")
        return
    folder = quote(str(request.to))
    domain_option = drafts.domain if drafts.domain != str(find_domain(request.to)) else None
    domain = f" --domain {quote(domain_option)}" if domain_option is not None else ""
    console.print(f"\n[pass]✓[/] {count} draft{'s' * (count != 1)}, and all validate. Edit what is marked TODO, then:")
    console.print(f"  {escape(get_command_prefix())} validate {escape(folder + domain)}", soft_wrap=True)
    options = "--agent rasa:http://localhost:5005 --person openai:gpt-5.1 --judge openai:gpt-5.1"
    console.print(f"  {escape(get_command_prefix())} run {escape(folder)} {options}{escape(domain)}", soft_wrap=True)


def _describe_usage(drafts: DraftResult) -> str:
    usage = drafts.usage
    cost = f"${usage.cost:.4f}" if usage.cost is not None else "at a price that is not known"
    tokens = f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
    return f"{drafts.model}: {usage.calls} question{'s' * (usage.calls != 1)}, {tokens}, {cost}"
