"""`clerkship push` and `clerkship pull`: move the folder of a suite to a server and back."""

from rich.markup import escape

from clerkship.cli.console import err, out, print_json, print_warning
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.service.remote_drafts import PullRequest, PushRequest
from clerkship.service.remote_drafts import pull as fetch
from clerkship.service.remote_drafts import push as send
from clerkship.settings import load_settings


@grouped
def push(request: PushRequest, json: Json = False) -> None:
    """Send the folder of a suite to a server, where it can be edited, published and run.

    The files replace those that the server has of the benchmark. The server checks them as `clerkship validate` does,
    without the variables of your environment; if there is a mistake, nothing changes. It runs no program in them.
    Folders such as `.git`, `.venv` and `.clerkship` are left out.

    Exit codes: 0 sent, 2 invalid input, or the server refused it.

    Examples:

        clerkship push suites/clinic --to https://tests.example.org --key-file ~/.clerkship.key

        clerkship push suites/clinic --to https://tests.example.org --as clinic-winter
    """
    pushed = send(request, load_settings())
    if json:
        data = {"id": pushed.id, "slug": pushed.slug, "files": pushed.files, "new": pushed.is_new}
        print_json({**data, "warnings": list(map(str, pushed.warnings))})
        return
    for warning in pushed.warnings:
        print_warning(warning, err())
    what = "a new benchmark" if pushed.is_new else "replaced"
    out().print(
        f"[pass]✓[/] [bold]{escape(pushed.slug)}[/]  {pushed.files} files, {what}  [quiet]{escape(pushed.id)}[/]"
    )


@grouped
def pull(request: PullRequest, json: Json = False) -> None:
    """Fetch the folder of a benchmark from a server, byte for byte.

    Files of yours that differ are not overwritten without --force. Files that the server does not have stay.

    Exit codes: 0 fetched, 2 invalid input, or the server refused it.

    Examples:

        clerkship pull clinic --from https://tests.example.org --key-file ~/.clerkship.key

        clerkship pull clinic --from https://tests.example.org --to suites/clinic --force
    """
    pulled = fetch(request, load_settings())
    if json:
        print_json(
            {"path": str(pulled.path), "files": pulled.files, "written": pulled.written, "others": pulled.others}
        )
        return
    console = out()
    console.print(
        f"[pass]✓[/] {escape(str(pulled.path))}  {pulled.files} files, {pulled.written} written", soft_wrap=True
    )
    if pulled.others:
        console.print(f"  [quiet]not on the server:[/] {escape(', '.join(pulled.others))}", soft_wrap=True)
