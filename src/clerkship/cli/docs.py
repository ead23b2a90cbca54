"""`clerkship docs`: the documentation of the installed version."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column

from clerkship.cli.console import out, plain_table, print_json
from clerkship.cli.options import Json
from clerkship.service.doc_pages import find_page, find_pages, read_page, read_title


def docs(
    page: Annotated[str | None, typer.Argument(help="Name of the page to print, such as write_a_task.")] = None,
    json: Json = False,
) -> None:
    """List the pages of the documentation, or print one.

    The pages are those of the installed version, as Markdown. If a guide and a page of the reference have one name,
    the name is that of the guide: write `reference/fax` for the other.

    Examples:

        clerkship docs

        clerkship docs write_a_task

        clerkship docs reference/assertions | less
    """
    if page is not None:
        path = find_page(page)
        text = read_page(path)
        if json:
            print_json({"name": path.stem, "text": text})
        else:
            typer.echo(text, nl=False)
        return
    titles = {name: read_title(path) for name, path in find_pages().items()}
    if json:
        print_json({"pages": titles})
        return
    table = plain_table(Column("page"), Column("title"))
    for name, title in titles.items():
        table.add_row(name, escape(title))
    out().print(table)
