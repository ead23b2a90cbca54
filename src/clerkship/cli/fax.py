"""`clerkship fax`: the fax pages of a suite."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, out, print_json
from clerkship.cli.options import Json
from clerkship.cli.progress import ProgressBar
from clerkship.model.errors import InputError
from clerkship.service.fax_pages import (
    FaxRun,
    find_texts_file,
    prepare_texts_file,
    run_faxes,
    run_steps,
    write_pictures,
    write_texts,
)
from clerkship.settings import load_settings

SuitePath = Annotated[
    Path, typer.Argument(help="Folder of YAML files, a file, or FILE::NAME for one task.", show_default=False)
]


def ocr(
    path: SuitePath,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write. [default: that of the suite's dataset of type fax_texts, or fax_texts.json]",
        ),
    ] = None,
    agent: Annotated[
        str,
        typer.Option("--agent", "-a", metavar="WHO", help="The agent whose faxes to read, besides those that arrive."),
    ] = "oracle",
    keep: Annotated[bool, typer.Option("--keep", help="Keep the text of pages that do not occur in this run.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Read pages again whose text the file has.")] = False,
    json: Json = False,
) -> None:
    """Read the fax pages of a suite with the OCR engine, and write their text to a dataset.

    Each task is run with its reference solution, and every page in its log is read. With the dataset in its
    environment, the suite runs without the engine, which `pip install 'clerkship[ocr]'` installs. The text of pages
    that no longer occur is removed if PATH is a folder; of one file or task, it stays.

    Exit codes: 0 done, 2 a task could not be run, or there is no engine.

    Examples:

        clerkship fax ocr suites/mine

        clerkship fax ocr suites/mine --agent python:other_way --keep
    """
    target = to or find_texts_file(path)
    prepare_texts_file(target, path)
    with agents_print_to_stderr():
        run = run_faxes(path, agent, load_settings(), build_catalog())
    _check_completed(run)
    pages = run.pages()
    with PageProgress(err(), len(pages), quiet=json) as progress:
        keep = keep or not path.is_dir()  # the pages of a file or a task are some of those in the suite
        written = write_texts(target, pages.values(), force=force, keep=keep, progress=progress)
    if json:
        print_json({"file": str(target), "pages": len(pages), "read": written.read, "removed": written.removed})
        return
    counts = f"{written.read} read, {written.unchanged} unchanged, {written.removed} removed"
    out().print(f"[pass]+[/] {escape(str(target))}  {len(pages)} pages: {counts}", soft_wrap=True)


def preview(
    path: SuitePath,
    to: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write the pictures to.")] = Path(
        "fax-pages"
    ),
    json: Json = False,
) -> None:
    """Write the pages of the faxes that arrive in a task as PNG files.

    The task is run with its reference solution if there is one, because later faxes may depend on what an agent does.

    Exit codes: 0 done, 2 a task could not be run, or no fax arrives.

    Examples:

        clerkship fax preview suites/mine/tasks/referral.yml

        clerkship fax preview 'suites/mine/tasks/referral.yml::Book the referral' --out pages
    """
    with agents_print_to_stderr():
        run = run_steps(path, load_settings(), build_catalog())
    _check_completed(run)
    if not run.faxes:
        raise InputError.of("no fax arrives in these tasks", hint="the step fax.receive sends one")
    paths = write_pictures(run.faxes, to)
    if json:
        print_json({"pages": [str(path) for path in paths]})
        return
    for picture in paths:
        out().print(f"[pass]+[/] {escape(str(picture))}", soft_wrap=True)


class PageProgress(ProgressBar):
    """Show a progress bar over pages on a terminal, and nothing elsewhere."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        super().__init__(console, total, quiet=quiet or total < 2)

    def status_text(self) -> str:
        return "[quiet]pages[/]"

    def __call__(self, hash: str) -> None:
        """Count one page."""
        self.advance()


def _check_completed(run: FaxRun) -> None:
    """Raise InputError if a task could not be run: pages would be missing."""
    if run.errors:
        task, reason = run.errors[0]
        more = f", and {len(run.errors) - 1} more" if len(run.errors) > 1 else ""
        raise InputError.of(f"the task `{task}` was not completed: {reason}{more}")
