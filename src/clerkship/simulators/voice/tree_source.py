"""Phone trees as files name them, one that ships or a whole one, and how they use hooks."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from clerkship.formats.phone_tree.nodes import CollectNode, HookNode, TransferNode, VoicemailNode
from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.shipped import list_trees, load_tree
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.formats.phone_tree.tree_check import find_tree_problems
from clerkship.model.located_error import FoundMistake
from clerkship.model.names import did_you_mean, find_nearest_name
from clerkship.simulators.voice.hooks.contract import Hook
from clerkship.simulators.voice.hooks.registry import HOOKS


class MissingDomain(FoundMistake):
    """A hook asks a domain that the environment does not have. One is reported for all hooks that ask it."""


def find_tree_hook_mistakes(
    tree: IvrTree, values: Collection[str] | None, domains: Collection[str]
) -> Iterator[FoundMistake]:
    """Return the mistakes in a tree. `domains` are the kinds of the environment's domains.

    `values` are those of the line. If they are None, the line is not known, so that no value can be missing.
    """
    for name, node in tree.nodes.items():
        if isinstance(node, HookNode):
            known = None if values is None else {*values, *_list_values(tree, node.hook)}
            for mistake in _check_node(node, known, domains):
                yield mistake._replace(path=("nodes", name, *mistake.path))


def find_script_hook_mistakes(
    script: RepresentativeScript, values: Collection[str], domains: Collection[str]
) -> Iterator[FoundMistake]:
    """Return the mistakes in the script of a representative."""
    used = [each for each in (script.verify_hook, *(answer.hook for answer in script.answers)) if each is not None]
    known = {*values, *script.verify, *chain.from_iterable(HOOKS[each].outputs for each in used if each in HOOKS)}
    if script.verify_hook is not None:
        yield from _check_use(script.verify_hook, ("verify_hook",), {}, known, domains)
    for number, answer in enumerate(script.answers):
        if answer.hook is None:
            continue
        path = ("answers", number)
        yield from _check_use(answer.hook, (*path, "hook"), answer.arguments, known, domains)
        hook = HOOKS.get(answer.hook)
        if hook is not None:
            yield from _check_optional(hook, answer.optional, (*path, "optional"))
        if hook is not None and not isinstance(answer.says, str):
            yield from _check_outcomes(hook, answer.says, (*path, "says"))


def _list_values(tree: IvrTree, hook: str) -> set[str]:
    """Return the names of the values that a tree sets, collects or gets from other hooks than the one that is named."""
    names = set(tree.values)
    for node in tree.nodes.values():
        if isinstance(node, CollectNode):
            names.add(node.variable)
        elif isinstance(node, HookNode) and node.hook in HOOKS and node.hook != hook:
            names.update(HOOKS[node.hook].outputs)
    return names


def _check_node(node: HookNode, known: Collection[str] | None, domains: Collection[str]) -> Iterator[FoundMistake]:
    yield from _check_use(node.hook, ("hook",), node.arguments, known, domains)
    hook = HOOKS.get(node.hook)
    if hook is not None:
        yield from _check_outcomes(hook, node.outcomes, ("outcomes",))


def _check_use(
    name: str,
    path: tuple[int | str, ...],
    arguments: Mapping[str, str],
    known: Collection[str] | None,
    domains: Collection[str],
) -> Iterator[FoundMistake]:
    """Check the name of a hook, its arguments, and that the environment has the domain that it asks."""
    hook = HOOKS.get(name)
    if hook is None:
        hint = did_you_mean(name, HOOKS) or f"hooks: {', '.join(HOOKS)}"
        yield FoundMistake(path, f"unknown hook `{name[:60]}`", hint)
        return
    if hook.needs and hook.needs not in domains:
        hint = f"add `{hook.needs}: {{kind: {hook.needs}}}` under `domains`"
        yield MissingDomain(path, f"the hook `{name}` needs a domain of kind {hook.needs}", hint)
    accepted = (*hook.inputs, *hook.optional)
    for argument in arguments:
        if argument not in accepted:
            hint = did_you_mean(argument, accepted) or f"its arguments are {', '.join(accepted)}"
            yield FoundMistake((*path[:-1], "arguments", argument), f"`{name}` has no argument `{argument}`", hint)
    for argument in hook.inputs:
        if known is not None and argument not in arguments and argument not in known:
            hint = f"collect it, set it under `values`, or give it under `arguments` as `{argument}: ...`"
            yield FoundMistake(path, f"`{name}` needs the value `{argument}`, and nothing sets it", hint)


def _check_optional(hook: Hook, names: Collection[str], path: tuple[int | str, ...]) -> Iterator[FoundMistake]:
    for number, name in enumerate(names):
        if name not in hook.optional:
            hint = did_you_mean(name, hook.optional) or f"they are {', '.join(hook.optional) or 'none'}"
            yield FoundMistake((*path, number), f"`{hook.name}` has no optional argument `{name}`", hint)


def _check_outcomes(hook: Hook, handled: Collection[str], path: tuple[int | str, ...]) -> Iterator[FoundMistake]:
    for outcome in handled:
        if outcome not in hook.outcomes:
            hint = did_you_mean(outcome, hook.outcomes) or f"its outcomes are {', '.join(hook.outcomes)}"
            yield FoundMistake((*path, outcome), f"`{hook.name}` has no outcome `{outcome}`", hint)
    missing = [each for each in hook.outcomes if each not in handled]
    if missing:
        listing = ", ".join(f"`{each}`" for each in missing)
        yield FoundMistake(path, f"`{hook.name}` may have the outcome {listing}, which is not handled", "add it here")


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
        yield FoundMistake(problem.place, problem.message)


def _find_unknown_places(tree: IvrTree, places: TreePlaces) -> Iterator[FoundMistake]:
    """Return the mailboxes and representatives that the line does not have; each mailbox once."""
    reported: set[str] = set()
    for name, node in tree.nodes.items():
        if isinstance(node, VoicemailNode) and node.mailbox not in {*places.mailboxes, *reported}:
            reported.add(node.mailbox)
            nearest = find_nearest_name(node.mailbox, places.mailboxes)
            added = f"add `{{name: {node.mailbox}, is_own: false}}` under `mailboxes`"
            hint = f"did you mean `{nearest}`?" if nearest is not None else added
            yield FoundMistake(("nodes", name, "mailbox"), f"unknown mailbox `{node.mailbox}`", hint)
        representative = node.representative if isinstance(node, TransferNode) else None
        if representative is not None and representative not in places.representatives:
            hint = did_you_mean(representative, places.representatives) or "add it under `representatives`"
            message = f"the line has no representative `{representative}`"
            yield FoundMistake(("nodes", name, "representative"), message, hint)
