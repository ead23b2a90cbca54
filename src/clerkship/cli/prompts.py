"""`clerkship prompts`: the built-in prompts."""

from typing import Annotated

import typer
from rich.table import Column, Table

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.llm.prompts import BUILT_IN, SUFFIX, list_prompt_parts, list_prompts, read_built_in
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean


def prompts(
    name: Annotated[str | None, typer.Argument(help="Name of the prompt to print.")] = None,
    json: Json = False,
) -> None:
    """List the built-in prompts, or print one.

    The list shows the version of each prompt, which is stored with each verdict. To use your own prompts, name them in
    `eval/conftest.yml`.

    Example:

        clerkship prompts criterion > prompts/criterion.jinja2
    """
    if name is not None:
        _print(name.removesuffix(SUFFIX), json=json)
        return
    versions = {prompt: BUILT_IN[prompt].version for prompt in list_prompts()}
    if json:
        print_json({"prompts": versions})
        return
    table = Table(Column("prompt"), Column("version", style="quiet"), box=None, padding=(0, 2, 0, 0))
    for prompt, version in versions.items():
        table.add_row(prompt, version)
    out().print(table)


def _print(name: str, *, json: bool) -> None:
    known = (*list_prompts(), *list_prompt_parts())
    if name not in known:
        raise InputError.of(f"unknown prompt `{name}`", hint=did_you_mean(name, known) or f"known: {', '.join(known)}")
    text = read_built_in(name + SUFFIX)
    if json:
        print_json({"name": name, "mark": BUILT_IN[name].version, "text": text})
    else:
        typer.echo(text, nl=False)
