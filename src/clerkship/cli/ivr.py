"""`clerkship ivr`: list and draw phone trees."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column

from clerkship.cli.console import out, plain_table, print_json
from clerkship.cli.options import Json
from clerkship.formats.phone_tree.drawing import DEFAULT_WIDTH, draw_text
from clerkship.formats.phone_tree.shipped import list_trees, load_tree
from clerkship.formats.phone_tree.svg_drawing import draw_svg
from clerkship.formats.phone_tree.tree_graph import list_targets
from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.service.phone_trees import FoundTree, find_trees

_STYLES = {"title": "bold", "node": "place", "prompt": "quiet", "exit": ""}


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A phone tree that ships; a YAML file of a tree; or a file of an environment or task with lines.",
        ),
    ],
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the drawing as SVG.")] = None,
    line: Annotated[
        str | None, typer.Option("--line", metavar="NUMBER", help="Show only the tree of the line with this number.")
    ] = None,
    json: Json = False,
) -> None:
    """Draw a phone tree in the terminal or as SVG.

    Each node is shown with its type, the first words of its prompt, and the keys, phrases or outcomes that lead to
    other nodes. Ways that lead back are marked. The tree is validated: mistakes are listed with file and line, and the
    exit code is 2.

    Examples:

        clerkship ivr show provider_line

        clerkship ivr show suites/mine/environment.yml --line +15550100140

        clerkship ivr show suites/mine/payer_tree.yml --svg payer.svg
    """
    trees = find_trees(name, line)
    if svg is not None:
        _write_svg(trees, svg, json=json)
    elif json:
        print_json({"trees": [_to_data(each) for each in trees]})
    else:
        for number, each in enumerate(trees):
            _print_tree(out(), each, is_first=number == 0)


def list_shipped(json: Json = False) -> None:
    """List the phone trees that ship.

    A line of an environment uses one by its name: `tree: provider_line`.

    Examples:

        clerkship ivr list
    """
    trees = {name: load_tree(name) for name in list_trees()}
    if json:
        rows = [{"name": name, "title": tree.name, "version": tree.version} for name, tree in trees.items()]
        print_json({"trees": rows})
        return
    table = plain_table(Column("name"), Column("title"), Column("version"), Column("nodes", justify="right"))
    for name, tree in trees.items():
        table.add_row(name, escape(tree.name), escape(tree.version), str(len(tree.nodes)))
    out().print(table)


def _print_tree(console: Console, tree: FoundTree, *, is_first: bool) -> None:
    if not is_first:
        console.print()
    if tree.number:
        console.print(f"[bold]{escape(tree.number)}[/]", soft_wrap=True)
    width = min(console.width, DEFAULT_WIDTH) if console.is_terminal else DEFAULT_WIDTH
    for line in draw_text(tree.tree, width):
        console.print(line.text, style=_STYLES[line.style], markup=False, highlight=False, soft_wrap=True)


def _write_svg(trees: list[FoundTree], path: Path, *, json: bool) -> None:
    if len(trees) > 1:
        numbers = ", ".join(each.number for each in trees)
        raise InputError.of(f"the file has {len(trees)} lines with phone trees", hint=f"give --line: {numbers}")
    try:
        write_atomically(path, [draw_svg(trees[0].tree).encode()])
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None
    if json:
        print_json({"file": str(path)})
    else:
        out().print(f"[pass]+[/] {escape(str(path))}", soft_wrap=True)


def _to_data(tree: FoundTree) -> dict[str, object]:
    nodes = {
        name: {"type": node.type, "exits": [{"label": way.label, "node": way.node} for way in list_targets(node)]}
        for name, node in tree.tree.nodes.items()
    }
    about: dict[str, object] = {"number": tree.number} if tree.number else {}
    about |= {"name": tree.tree.name, "version": tree.tree.version, "start": tree.tree.start, "nodes": nodes}
    return about
