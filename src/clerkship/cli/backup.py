"""`clerkship backup` and `clerkship restore`: the data of a server, also while it runs."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.service.serving.backup import Backup, back_up
from clerkship.service.serving.backup import restore as restore_backup


def backup(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Data folder of the server.")],
    to: Annotated[Path, typer.Argument(metavar="TO", help="New folder for the backup.")],
    *,
    json: Json = False,
) -> None:
    """Back up the data of a server, which may run meanwhile.

    The backup is as the data were at one moment: runs, results, keys, drafts and published versions. Task runs that are
    under way at that moment have their log so far, and can be started again. The seal key is not part of it.

    Exit codes: 0 done, 2 invalid input.

    Examples:

        clerkship backup .clerkship/server backups/monday
    """
    _report(back_up(folder, to), to, json=json)


def restore(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="Folder of the backup.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="New data folder.")],
    *,
    json: Json = False,
) -> None:
    """Restore a backup of a server into a new data folder.

    Every file is compared with its SHA-256 first. Then start the server: clerkship serve --data FOLDER.

    Exit codes: 0 done, 2 the backup is damaged, or the folder is used.

    Examples:

        clerkship restore backups/monday .clerkship/server
    """
    _report(restore_backup(source, folder), folder, json=json)


def _report(done: Backup, where: Path, *, json: bool) -> None:
    if json:
        print_json(done)
    else:
        what = f"{len(done.files):,} files, {done.size / 1e6:.1f} MB, of {done.created_at}"
        out().print(f"[pass]✓[/] {escape(str(where))}  [quiet]{what}[/]", soft_wrap=True)
