"""Mistakes in a phone tree, all of them at once."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from clerkship.formats.phone_tree.nodes import (
    BranchNode,
    Choice,
    CollectNode,
    HookNode,
    HoursNode,
    IvrNode,
    MenuNode,
    NodeName,
    QueueNode,
    TransferNode,
    UncheckedTree,
)
from clerkship.formats.phone_tree.prompts import check_prompt, find_names
from clerkship.formats.phone_tree.tree_graph import (
    Edges,
    build_edges,
    find_loops,
    find_reachable,
    is_exit,
    list_targets,
    list_targets_without_caller,
    reverse_edges,
)
from clerkship.model.names import find_nearest_name
from clerkship.text.spoken_words import split_words

MAX_LISTED = 10
"""Names that a message lists; of more, it gives the nearest."""
HookOutputs = Mapping[str, Sequence[str]]
"""Names of the values that each hook may return."""
_ANSWER_KEYS = "12"
"""The keys that answer whether an entry is right."""

_OWN_NAMES = {"announcement": {"position"}, "confirmation": {"entry"}}
"""Names of values that only one text of a node has."""
_LISTS = ("choices", "hours")
_ADD_EXIT = "it reaches no end, transfer or voicemail node; lead to one from here"
_REACH = "lead to it from another node, or remove it"
_BREAK_LOOP = "add a menu, or `max_visits` to a hook"
_EXPECTED_SETTERS = "expected a value of the tree, a collect node, or a hook on the way here"


class TreeProblem(NamedTuple):
    """A mistake in a phone tree."""

    node: str
    """The node; empty for the tree itself."""
    key: str
    """The key of the node in the file, such as `choices.0.next`; empty for the node itself."""
    message: str

    @property
    def path(self) -> tuple[str | int, ...]:
        """The parts of the key: names of fields, keys of maps, and numbers of list items."""
        field, _, rest = self.key.partition(".")
        if field in _LISTS:
            return (field, *(int(part) if part.isdigit() else part for part in rest.split(".") if part))
        return tuple(part for part in (field, rest) if part)

    @property
    def place(self) -> tuple[str | int, ...]:
        """The parts of the path from the tree to the key."""
        return ("nodes", self.node, *self.path) if self.node else self.path

    def __str__(self) -> str:
        place = f"node `{self.node}`" if self.node else ""
        key = f"`{self.key}`" if self.key else ""
        where = ", ".join(part for part in (place, key) if part)
        return f"{where}: {self.message}"


def find_tree_problems(tree: UncheckedTree, outputs: HookOutputs | None = None) -> list[TreeProblem]:
    """Return the mistakes of a phone tree, in the order of its nodes.

    Without `outputs`, a hook may return a value of any name.
    """
    problems = [*_check_targets(tree), *_check_reachable(tree), *_check_loops(tree)]
    for name, node in tree.nodes.items():
        problems += [TreeProblem(name, key, message) for key, message in _check_node(node)]
    problems += _check_names(tree, outputs)
    order = {name: index for index, name in enumerate(tree.nodes)}
    return sorted(problems, key=lambda problem: order.get(problem.node, -1))


def _check_targets(tree: UncheckedTree) -> Iterator[TreeProblem]:
    for key, named in (("start", tree.start), ("operator", tree.operator)):
        if named is not None and named not in tree.nodes:
            yield TreeProblem("", key, f"there is no node `{named}`{_suggest(named, tree.nodes)}")
    for name, node in tree.nodes.items():
        for target in list_targets(node):
            if target.node not in tree.nodes:
                hint = _suggest(target.node, tree.nodes)
                yield TreeProblem(name, target.key, f"there is no node `{target.node}`{hint}")


def _suggest(name: str, known: Collection[str], heading: str = "expected") -> str:
    """Return the names that could be meant: all if they are few, else the nearest."""
    if 0 < len(known) <= MAX_LISTED:
        return f" ({heading}: {', '.join(known)})"
    nearest = find_nearest_name(name, known)
    return f"; did you mean `{nearest}`?" if nearest else ""


def _build_edges(tree: UncheckedTree) -> Edges:
    """Return which nodes each node leads to, by its own targets or because the caller asks for the operator there."""
    edges = build_edges(tree.nodes, list_targets)
    if tree.operator not in tree.nodes:
        return edges
    inputs = {name for name, node in tree.nodes.items() if isinstance(node, MenuNode | CollectNode)}
    return {name: (*targets, tree.operator) if name in inputs else targets for name, targets in edges.items()}


def _check_reachable(tree: UncheckedTree) -> Iterator[TreeProblem]:
    if tree.start not in tree.nodes:
        return
    reachable = find_reachable(_build_edges(tree), [tree.start])
    for name in tree.nodes:
        if name not in reachable:
            yield TreeProblem(name, "", f"it cannot be reached from the start node `{tree.start}`; {_REACH}")


def _check_loops(tree: UncheckedTree) -> Iterator[TreeProblem]:
    """Find loops that cannot be left, and loops in which the caller is never asked.

    A node with a target that does not exist counts as an exit: it may be meant to be one.
    """
    edges = _build_edges(tree)
    exits = [name for name, node in tree.nodes.items() if is_exit(node) or _has_unknown_target(tree, node)]
    closed = set(tree.nodes) - find_reachable(reverse_edges(edges), exits)
    for loop in find_loops(edges, closed):
        yield TreeProblem(loop[0], "", f"the loop {_draw_loop(loop)} has no exit: {_ADD_EXIT}")
    for loop in find_loops(build_edges(tree.nodes, list_targets_without_caller), set(tree.nodes) - closed):
        yield TreeProblem(loop[0], "", f"the loop {_draw_loop(loop)} never waits for the caller: {_BREAK_LOOP}")


def _has_unknown_target(tree: UncheckedTree, node: IvrNode) -> bool:
    return any(target.node not in tree.nodes for target in list_targets(node))


def _draw_loop(loop: Sequence[NodeName]) -> str:
    return " -> ".join([*loop, loop[0]])


def _check_node(node: IvrNode) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of a node that can be seen without the others: the key, and what is wrong."""
    for key, text in _list_texts(node):
        try:
            check_prompt(text)
        except ValueError as error:
            yield key, str(error)
    match node:
        case MenuNode():
            yield from _check_choices(node.choices, {"repeat_key": node.repeat_key})
        case CollectNode():
            yield from _check_collect(node)
        case HookNode():
            yield from _check_visits(node)
        case HoursNode():
            yield from _check_hours(node)
        case QueueNode():
            yield from _check_choices(node.choices, {})
            if node.wait_up_to is not None and node.wait_up_to < node.wait:
                yield "wait_up_to", "it is shorter than `wait`"
        case TransferNode() if (node.representative is None) == (node.number is None):
            problem = "is missing" if node.number is None else "is given twice"
            yield "", f"the target {problem}: expected one of `representative` and `number`"
        case _:
            pass


def _check_visits(node: HookNode) -> Iterator[tuple[str, str]]:
    if node.max_visits is not None and node.exhausted is None:
        yield "max_visits", "`exhausted` is missing: the node to go to after so many visits"
    if node.exhausted is not None and node.max_visits is None:
        yield "exhausted", "`max_visits` is missing: without it, the call never goes there"


def _check_hours(node: HoursNode) -> Iterator[tuple[str, str]]:
    for index, hours in enumerate(node.hours):
        if hours.closes <= hours.opens and not hours.closes_at_midnight:
            yield (
                f"hours.{index}",
                f"it closes at {hours.closes:%H:%M}, but opens at {hours.opens:%H:%M} (expected: a later time; for a "
                "night, close at 00:00 and add hours of the next day)",
            )


def _check_choices(choices: Sequence[Choice], others: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    keys = Counter(choice.key for choice in choices if choice.key is not None)
    for key, count in keys.items():
        if count > 1:
            yield f"choices.{_find_second(choices, key)}", f"key {key} has {count} choices (expected: one)"
    for name, other in others.items():
        if other in keys:
            yield name, f"key {other} is also a choice"
    phrases = Counter(
        phrase for choice in choices for phrase in {" ".join(split_words(phrase)) for phrase in choice.speech}
    )
    for phrase, count in phrases.items():
        if phrase and count > 1:
            yield "choices", f"the phrase “{phrase}” is in {count} choices (expected: one)"
    for index, choice in enumerate(choices):
        if choice.key is None and not choice.speech:
            yield f"choices.{index}", "it has neither `key` nor `speech`, so it cannot be chosen"
        if any(not split_words(phrase) for phrase in choice.speech):
            yield f"choices.{index}.speech", "a phrase has no words"


def _find_second(choices: Sequence[Choice], key: str) -> int:
    """Return the place of the second choice with a key."""
    return [index for index, choice in enumerate(choices) if choice.key == key][1]


def _check_collect(node: CollectNode) -> Iterator[tuple[str, str]]:
    if node.confirmation is not None and not node.confirm:
        yield "confirmation", "it is never said without `confirm: true`"
    elif node.confirmation is not None and "entry" not in find_names(node.confirmation):
        yield "confirmation", "`{entry}` is missing: what the caller entered"
    if node.min_length > node.max_length:
        yield "min_length", f"{node.min_length} is greater than `max_length`, which is {node.max_length}"
    if node.repeat_key is not None and node.repeat_key == node.end_key:
        yield "end_key", f"key {node.end_key} is also `repeat_key`"
    for name, key in (("end_key", node.end_key), ("repeat_key", node.repeat_key)):
        if key is not None and key.isdigit():
            choice = " and answers the confirmation" if node.confirm and key in _ANSWER_KEYS else ""
            yield name, f"key {key} is a digit, which an entry may contain{choice} (expected: * or #)"


def _check_names(tree: UncheckedTree, outputs: HookOutputs | None) -> Iterator[TreeProblem]:
    """Find names of values that nothing can have set before a node is entered."""
    known = _find_known_names(tree, outputs)
    for name, node in tree.nodes.items():
        names = known.get(name)
        if names is None:
            continue
        for key, text in _list_texts(node):
            own = _OWN_NAMES.get(key, set())
            for used in find_names(text):
                if used not in names | own:
                    yield TreeProblem(name, key, f"{{{used}}} {_describe_unset(used, names | own)}")
        if isinstance(node, BranchNode) and node.variable not in names:
            yield TreeProblem(name, "variable", f"`{node.variable}` {_describe_unset(node.variable, names)}")


def _describe_unset(name: str, known: Collection[str]) -> str:
    return f"is not set before: {_EXPECTED_SETTERS}{_suggest(name, sorted(known), 'set here')}"


def _find_known_names(tree: UncheckedTree, outputs: HookOutputs | None) -> dict[NodeName, set[str]]:
    """Return the names that may be set when a node is entered. A node after a hook of unknown outputs is left out."""
    edges = _build_edges(tree)
    known = {name: set(tree.values) for name in tree.nodes}
    for name, node in tree.nodes.items():
        added = _find_set_names(node, outputs)
        if added == set():
            continue
        for later in find_reachable(edges, edges[name]) & known.keys():
            if added is None:
                del known[later]
            else:
                known[later] |= added
    return known


def _find_set_names(node: IvrNode, outputs: HookOutputs | None) -> set[str] | None:
    """Return the names that a node sets; None if they are not known."""
    if isinstance(node, CollectNode):
        return {node.variable}
    if isinstance(node, HookNode):
        return None if outputs is None else set(outputs.get(node.hook, ()))
    return set()


def _list_texts(node: IvrNode) -> Iterator[tuple[str, str]]:
    """Yield the texts of a node that may contain values, each with its key."""
    for key in ("prompt", "no_input", "no_match", "announcement", "confirmation"):
        text = getattr(node, key, None)
        if text is not None:
            yield key, text
    if isinstance(node, HookNode):
        for name, text in node.arguments.items():
            yield f"arguments.{name}", text
