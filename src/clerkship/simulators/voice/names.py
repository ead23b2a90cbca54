"""The names that the lines, phone trees and mailboxes of a configuration define, for steps and criteria to refer to."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from clerkship.formats.phone_tree.nodes import MAILBOX, REPRESENTATIVE, QueueNode
from clerkship.formats.phone_tree.shipped import list_trees
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.model.closed import NameOf
from clerkship.model.conversation_key import is_phone, normalize_any_address
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.tree_source import resolve_tree

TREE = NameOf("phone tree")
NODE = NameOf("node of a phone tree")
QUEUE = NameOf("queue")
LINE = NameOf("line", normalize_any_address)
OWN_NUMBER = NameOf("own number", normalize_any_address)
PHONE_NUMBER = NameOf("phone number", normalize_any_address, or_mentioned=True, has_form=is_phone)
TRANSFER_TARGET = NameOf("number or representative", normalize_any_address, or_mentioned=True, has_form=is_phone)


def list_tree_names(tree: IvrTree) -> Iterator[tuple[str, str]]:
    """Yield the names that a phone tree defines, with their sorts."""
    yield TREE.sort, tree.name
    for node, definition in tree.nodes.items():
        for name in (node, f"{tree.name}/{node}"):
            yield NODE.sort, name
            if isinstance(definition, QueueNode):
                yield QUEUE.sort, name


def _select_tree_names(sort: str) -> Callable[[VoiceConfig, Any], Collection[str]]:
    def select(config: VoiceConfig, base: Any) -> Collection[str]:
        sources = [line.tree for line in config.lines if line.tree is not None]
        trees = [resolve_tree(source) for source in sources if isinstance(source, IvrTree) or source in list_trees()]
        return {name for tree in trees for named, name in list_tree_names(tree) if named == sort}

    return select


def _list_numbers(config: VoiceConfig, base: Any) -> Collection[str]:
    mailboxes = [number for each in config.mailboxes for number in (each.number, each.access_number) if number]
    return {*config.numbers, *(line.number for line in config.lines), *mailboxes}


def _list_transfer_targets(config: VoiceConfig, base: Any) -> Collection[str]:
    scripts = [(line.number, name) for line in config.lines for name in line.representatives]
    names = {name for number, script in scripts for name in (script, f"{number}/{script}")}
    return {*_list_numbers(config, base), *names}


NAMES: Mapping[str, Callable[[VoiceConfig, Any], Collection[str]]] = {
    MAILBOX.sort: lambda config, base: [mailbox.name for mailbox in config.mailboxes],
    **{marker.sort: _select_tree_names(marker.sort) for marker in (TREE, NODE, QUEUE)},
    REPRESENTATIVE.sort: lambda config, base: {name for line in config.lines for name in line.representatives},
    LINE.sort: lambda config, base: [line.number for line in config.lines],
    OWN_NUMBER.sort: lambda config, base: config.numbers,
    PHONE_NUMBER.sort: _list_numbers,
    TRANSFER_TARGET.sort: _list_transfer_targets,
}
