"""`clerkship publish` and `clerkship new-key`: freeze a suite into one file, and make keys that sign it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.service.publishing import Published, PublishRequest
from clerkship.service.publishing import publish as freeze
from clerkship.settings import load_settings
from clerkship.suite_files.published.signing import create_key_pair


@grouped
def publish(request: PublishRequest, json: Json = False) -> None:
    """Freeze a suite into one file that never changes.

    The file has everything that a run needs: tasks, criteria, environments, records, documents, prompts and solutions.
    It has the same bytes on every machine. `run`, `validate`, `up --from`, `rescore --by` and `suite attack` take its
    name, such as chart@1, its path, or its digest. Publishing the same content again is the same version; other content
    needs another version.

    Exit codes: 0 published, 2 invalid input.

    Examples:

        clerkship publish suites/clinic --as clinic@1

        clerkship publish suites/clinic --as clinic@1 --sign keys/clinic.pem

        clerkship run clinic@1 --agent python:my_agent:Agent
    """
    published = freeze(request, load_settings(), build_catalog())
    if json:
        print_json([_to_data(each) for each in published])
        return
    console = out()
    for each in published:
        what = "for agents, without criteria and solutions" if each.version.for_agents else ""
        again = "" if each.is_new else "the same content is published already"
        about = ", ".join(part for part in (f"{each.tasks} tasks", f"{each.size / 1e6:.1f} MB", what, again) if part)
        console.print(f"[pass]✓[/] [bold]{each.version.name}[/]  {about}")
        console.print(f"  [quiet]sha256:{each.version.digest}[/]", soft_wrap=True)
        if each.version.signed_by:
            console.print(f"  signed by {each.version.signed_by}")
        console.print(f"  {escape(str(each.path))}", soft_wrap=True)


def new_key(
    file: Annotated[Path, typer.Argument(help="File for the private key. The public key gets the same name and .pub.")],
) -> None:
    """Make a pair of keys to sign published versions with.

    They are Ed25519 keys in PEM files. Keep the private key for yourself: only its owner can read the file. Give the
    public key to those who run your benchmarks: they name it in CLERKSHIP_TRUSTED_KEYS.

    Example:

        clerkship new-key keys/clinic.pem
    """
    public, key_id = create_key_pair(file)
    console = out()
    console.print(f"[pass]✓[/] {escape(str(file))}  private key: `clerkship publish --sign` takes it", soft_wrap=True)
    console.print(f"  {escape(str(public))}  public key, for CLERKSHIP_TRUSTED_KEYS", soft_wrap=True)
    console.print(f"  [quiet]key id[/] {key_id}")


def _to_data(published: Published) -> dict[str, object]:
    return {
        "name": published.version.name,
        "digest": f"sha256:{published.version.digest}",
        "for_agents": published.version.for_agents,
        "signed_by": published.version.signed_by,
        "path": str(published.path),
        "bytes": published.size,
        "tasks": published.tasks,
        "new": published.is_new,
    }
