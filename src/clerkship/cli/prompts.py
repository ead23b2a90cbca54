"""`clerkship prompts`: what models are told."""

from typing import Annotated

import typer
from rich.table import Column, Table

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.llm.prompts import BUILT_IN, SUFFIX, list_prompt_parts, list_prompts, read_built_in
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean


def prompts(
    name: Annotated[str | None, typer.Argument(help="One of them, to be printed as it is.")] = None,
    json: Json = False,
) -> None:
    """List the built-in prompts with their marks, or print one: a start for a prompt of your own.

    A verdict keeps the mark of the prompt it was given by. `eval/conftest.yml` names prompts of your own.

    Example:

        clerkship prompts criterion > prompts/criterion.jinja2
    """
    if name is not None:
        _print(name.removesuffix(SUFFIX), json=json)
        return
    marks = {each: BUILT_IN[each].mark for each in list_prompts()}
    if json:
        print_json({"prompts": marks})
        return
    table = Table(Column("prompt"), Column("mark", style="quiet"), box=None, padding=(0, 2, 0, 0))
    for each, mark in marks.items():
        table.add_row(each, mark)
    out().print(table)


def _print(name: str, *, json: bool) -> None:
    known = (*list_prompts(), *list_prompt_parts())
    if name not in known:
        raise InputError.of(f"no prompt `{name}`", hint=did_you_mean(name, known) or f"there are {', '.join(known)}")
    text = read_built_in(name + SUFFIX)
    if json:
        print_json({"name": name, "mark": BUILT_IN[name].mark, "text": text})
    else:
        typer.echo(text, nl=False)
