"""Phone trees as files name them: one that ships, or a whole one."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from clerkship.formats.phone_tree.shipped import list_trees, load_tree
from clerkship.formats.phone_tree.tree import HookNode, IvrTree, TransferNode, VoicemailNode
from clerkship.formats.phone_tree.tree_check import find_tree_problems
from clerkship.model.located_error import FoundMistake
from clerkship.model.names import did_you_mean
from clerkship.simulators.voice.hooks.registry import HOOKS
from clerkship.simulators.voice.tree_hooks import find_tree_hook_mistakes

_OUTPUTS = {name: hook.outputs for name, hook in HOOKS.items()}


class TreePlaces(NamedTuple):
    """What the line of a phone tree has: names of values, mailboxes and representatives."""

    values: Collection[str]
    mailboxes: Collection[str]
    representatives: Collection[str]


def resolve_tree(source: str | IvrTree) -> IvrTree:
    """Return a tree; one that ships by its name."""
    return load_tree(source) if isinstance(source, str) else source


def list_source_values(source: str | IvrTree) -> Collection[str]:
    """Return the names of the values of a tree; none if no such tree ships."""
    return resolve_tree(source).values if isinstance(source, IvrTree) or source in list_trees() else ()


def find_tree_mistakes(
    source: str | IvrTree, places: TreePlaces | None, domains: Collection[str]
) -> Iterator[FoundMistake]:
    """Return the mistakes in a tree of a line; `places` is None if the line is not known."""
    if isinstance(source, str) and source not in list_trees():
        hint = did_you_mean(source, list_trees()) or f"trees: {', '.join(list_trees())}"
        yield FoundMistake((), f"unknown phone tree `{source[:60]}`", hint)
        return
    tree = resolve_tree(source)
    mistakes = [*find_tree_hook_mistakes(tree, None if places is None else places.values, domains)]
    if places is not None:
        mistakes += [*_find_unset_names(tree, places.values), *_find_unknown_places(tree, places)]
    for mistake in mistakes:
        where = ".".join(map(str, mistake.path))
        is_named = isinstance(source, str)
        yield mistake._replace(path=(), message=f"{where}: {mistake.message}") if is_named else mistake


def _find_unset_names(tree: IvrTree, values: Collection[str]) -> Iterator[FoundMistake]:
    """Return the names of values that neither the line, nor the tree, nor the outputs of its hooks set."""
    if any(isinstance(node, HookNode) and node.hook not in HOOKS for node in tree.nodes.values()):
        return  # what an unknown hook would set is not known either
    complete = tree.model_copy(update={"values": {**dict.fromkeys(values, ""), **tree.values}})
    for problem in find_tree_problems(complete, _OUTPUTS):
        keys = (int(part) if part.isdigit() else part for part in problem.key.split(".") if part)
        yield FoundMistake(("nodes", problem.node, *keys) if problem.node else tuple(keys), problem.message)


def _find_unknown_places(tree: IvrTree, places: TreePlaces) -> Iterator[FoundMistake]:
    for name, node in tree.nodes.items():
        if isinstance(node, VoicemailNode) and node.mailbox not in places.mailboxes:
            hint = did_you_mean(node.mailbox, places.mailboxes) or "add it under `mailboxes`"
            yield FoundMistake(("nodes", name, "mailbox"), f"unknown mailbox `{node.mailbox}`", hint)
        representative = node.representative if isinstance(node, TransferNode) else None
        if representative is not None and representative not in places.representatives:
            hint = did_you_mean(representative, places.representatives) or "add it under `representatives`"
            message = f"the line has no representative `{representative}`"
            yield FoundMistake(("nodes", name, "representative"), message, hint)
