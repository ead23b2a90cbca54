"""A phone tree as text for a terminal: its nodes in the order of a call, with what leads where."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from clerkship.formats.phone_tree.nodes import (
    CollectNode,
    EndNode,
    HookNode,
    HoursNode,
    IvrNode,
    MenuNode,
    QueueNode,
    SayNode,
    TransferNode,
    VoicemailNode,
)
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.formats.phone_tree.tree_graph import NodeTarget, list_targets
from clerkship.model.duration import render_duration

DEFAULT_WIDTH = 80
MIN_WIDTH = 40
MAX_LABEL = 34
LOOP_SIGN = "↺"
LineStyle = Literal["title", "node", "prompt", "exit"]


class TextLine(NamedTuple):
    """A line of a drawing, and what it shows."""

    style: LineStyle
    text: str


class TreeWalk(NamedTuple):
    """The nodes in the order of a call, and the ways that lead back."""

    order: tuple[str, ...]
    loops: frozenset[tuple[str, str]]
    """Pairs of a node and an earlier one on the way to it, to which it leads back."""


def draw_text(tree: IvrTree, width: int = DEFAULT_WIDTH) -> Iterator[TextLine]:
    """Yield the lines of a drawing. None is longer than the width, unless the name of a node is."""
    width = max(width, MIN_WIDTH)
    walk = walk_tree(tree)
    title = f"{tree.name}, version {tree.version}: {len(tree.nodes)} nodes"
    yield TextLine("title", shorten(f"{title} ({LOOP_SIGN} leads back)" if walk.loops else title, width))
    for name in walk.order:
        node = tree.nodes[name]
        yield TextLine("prompt", "")
        yield TextLine("node", f"{name}  [{describe_node(node)}]")
        prompt = describe_prompt(node)
        if prompt:
            yield TextLine("prompt", f"│ {shorten(prompt, width - 2)}")
        yield from _draw_exits(name, list_targets(node), walk, width)


def walk_tree(tree: IvrTree) -> TreeWalk:
    """Return the nodes of a tree, each one after a node that leads to it; unreachable ones are last."""
    order: dict[str, None] = {}
    loops: set[tuple[str, str]] = set()
    for start in (tree.start, *tree.nodes):
        path: dict[str, Iterator[NodeTarget]] = {}
        _enter(tree, start, order, path)
        while path:
            name, exits = next(reversed(path.items()))
            way = next(exits, None)
            if way is None:
                del path[name]
            elif way.node in path:
                loops.add((name, way.node))
            else:
                _enter(tree, way.node, order, path)
    return TreeWalk(tuple(order), frozenset(loops))


def _enter(tree: IvrTree, name: str, order: dict[str, None], path: dict[str, Iterator[NodeTarget]]) -> None:
    if name in tree.nodes and name not in order:
        order[name] = None
        path[name] = iter(list_targets(tree.nodes[name]))


def describe_node(node: IvrNode) -> str:
    """Return the type of a node, and what it does if that is not said by its prompt."""
    match node:
        case CollectNode():
            return f"collect {node.format}"
        case HookNode():
            return f"hook {node.hook}"
        case QueueNode():
            longest = f" to {render_duration(node.wait_up_to)}" if node.wait_up_to is not None else ""
            return f"queue {render_duration(node.wait)}{longest}"
        case TransferNode():
            return f"transfer to {node.representative or node.number or '?'}"
        case VoicemailNode():
            return f"voicemail {node.mailbox}"
        case HoursNode():
            return f"hours {_describe_hours(node)}"
        case _:
            return node.type


def describe_prompt(node: IvrNode) -> str:
    """Return what a node says, on one line; empty if it says nothing."""
    match node:
        case SayNode() | MenuNode() | CollectNode() | HookNode() | TransferNode() | VoicemailNode() | EndNode():
            return " ".join(node.prompt.split())
        case QueueNode():
            return " ".join(node.announcement.split())
        case _:
            return ""


def _describe_hours(node: HoursNode) -> str:
    parts = [
        f"{'-'.join(dict.fromkeys((hours.days[0], hours.days[-1])))} {hours.opens:%H:%M}-{hours.closes:%H:%M}"
        for hours in node.hours
    ]
    return ", ".join(parts)


def _draw_exits(name: str, exits: Sequence[NodeTarget], walk: TreeWalk, width: int) -> Iterator[TextLine]:
    """Yield a line for each way out, with the arrows below each other."""
    longest = max((len(way.node) for way in exits), default=0)
    room = max(min(width - longest - 8, MAX_LABEL), 8)
    labels = [shorten(way.label, room) for way in exits]
    column = max(map(len, labels), default=0)
    for index, (way, label) in enumerate(zip(exits, labels, strict=True)):
        corner = "└" if index == len(exits) - 1 else "├"
        padded = f"{label:<{column}} " if column else ""
        loop = f" {LOOP_SIGN}" if (name, way.node) in walk.loops else ""
        yield TextLine("exit", f"{corner} {padded}→ {way.node}{loop}")


def shorten(text: str, width: int) -> str:
    """Return the first words of a text, with `…` if some are left out."""
    if len(text) <= width:
        return text
    words = textwrap.shorten(text, width, placeholder="…")
    return words if len(words) > 1 else f"{text[: width - 1]}…"
