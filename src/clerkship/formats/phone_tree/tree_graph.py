"""The nodes of a phone tree as a graph: where each leads, what can be reached, and loops."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from clerkship.formats.phone_tree.nodes import (
    BranchNode,
    CollectNode,
    EndNode,
    HookNode,
    HoursNode,
    IvrNode,
    MenuNode,
    NodeName,
    QueueNode,
    SayNode,
    TransferNode,
    VoicemailNode,
)

Edges = Mapping[NodeName, tuple[NodeName, ...]]


class NodeTarget(NamedTuple):
    """A node that another one leads to."""

    key: str
    """The key in the file, such as `choices.0.next`."""
    node: NodeName
    label: str = ""
    """What leads there: a key and phrases, an outcome, or a condition."""


def list_targets(node: IvrNode) -> list[NodeTarget]:
    """Return the nodes that a node leads to, in the order of the file."""
    match node:
        case SayNode():
            return [NodeTarget("next", node.next)]
        case MenuNode():
            return [*_list_choices(node), *_list_failure(node)]
        case CollectNode():
            return [NodeTarget("next", node.next, node.variable), *_list_failure(node)]
        case HookNode():
            outcomes = [NodeTarget(f"outcomes.{outcome}", target, outcome) for outcome, target in node.outcomes.items()]
            return [*outcomes, *_list_optional("exhausted", node.exhausted, f"after {node.max_visits} visits")]
        case BranchNode():
            cases = [
                NodeTarget(f"cases.{value}", target, f"{node.variable} = {value}")
                for value, target in node.cases.items()
            ]
            return [*cases, NodeTarget("otherwise", node.otherwise, "otherwise")]
        case HoursNode():
            return [NodeTarget("opened", node.opened, "open"), NodeTarget("closed", node.closed, "closed")]
        case QueueNode():
            return [*_list_choices(node), NodeTarget("next", node.next, "answered")]
        case _:
            return []


def list_targets_without_caller(node: IvrNode) -> list[NodeTarget]:
    """Return the nodes that a node leads to again and again though the caller does nothing.

    Menus, data entry and queues wait. A hook with `max_visits` leads only to `exhausted` in the end.
    """
    if isinstance(node, MenuNode | CollectNode | QueueNode):
        return []
    targets = list_targets(node)
    if isinstance(node, HookNode) and node.max_visits is not None:
        return [target for target in targets if target.key == "exhausted"]
    return targets


def is_exit(node: IvrNode) -> bool:
    """Whether the phone tree is left at a node."""
    return isinstance(node, EndNode | TransferNode | VoicemailNode)


def build_edges(nodes: Mapping[NodeName, IvrNode], list_nodes: Callable[[IvrNode], list[NodeTarget]]) -> Edges:
    """Return which nodes each node leads to. Targets that do not exist are left out."""
    return {
        name: tuple(dict.fromkeys(target.node for target in list_nodes(node) if target.node in nodes))
        for name, node in nodes.items()
    }


def reverse_edges(edges: Edges) -> Edges:
    """Return which nodes lead to each node."""
    sources: dict[NodeName, list[NodeName]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            sources[target].append(name)
    return {name: tuple(names) for name, names in sources.items()}


def find_reachable(edges: Edges, starts: Iterable[NodeName]) -> set[NodeName]:
    """Return the nodes that can be reached from some nodes, with these."""
    reached: set[NodeName] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges[name]
    return reached


def find_loops(edges: Edges, among: set[NodeName]) -> Iterator[list[NodeName]]:
    """Yield a shortest loop through each node that is in one, unless it is in an earlier loop."""
    seen: set[NodeName] = set()
    for name in edges:
        if name in among and name not in seen:
            loop = _find_loop(edges, name, among)
            if loop:
                yield loop
                seen.update(loop)


def _find_loop(edges: Edges, start: NodeName, among: set[NodeName]) -> list[NodeName]:
    """Return the nodes of a shortest loop from a node back to it; empty if there is none."""
    came_from: dict[NodeName, NodeName] = {}
    waiting = [start]
    for name in waiting:
        for target in edges[name]:
            if target == start:
                return _trace(came_from, start, name)
            if target in among and target not in came_from:
                came_from[target] = name
                waiting.append(target)
    return []


def _trace(came_from: Mapping[NodeName, NodeName], start: NodeName, last: NodeName) -> list[NodeName]:
    path = [last]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def _list_choices(node: MenuNode | QueueNode) -> list[NodeTarget]:
    return [
        NodeTarget(f"choices.{index}.next", choice.next, f"{choice.key or '-'} {', '.join(choice.speech)}".rstrip())
        for index, choice in enumerate(node.choices)
    ]


def _list_failure(node: MenuNode | CollectNode) -> list[NodeTarget]:
    return _list_optional("failed", node.failed, f"after {node.max_attempts} attempts")


def _list_optional(key: str, target: NodeName | None, label: str) -> list[NodeTarget]:
    return [] if target is None else [NodeTarget(key, target, label)]
