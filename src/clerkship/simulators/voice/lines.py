"""The lines that can be called, and their phone trees."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from clerkship.events.event import Event, Payload
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.simulators.voice.config import MailboxConfig, VoiceConfig, VoiceLine
from clerkship.simulators.voice.events import LineChanged, MenuChanged
from clerkship.simulators.voice.tree_source import resolve_tree


class LineTable:
    """The lines of the configuration by number, with each version of their phone trees.

    A call keeps the version of the tree that it came to.
    """

    applied_events: ClassVar[tuple[type[Payload], ...]] = (MenuChanged, LineChanged)

    def __init__(self, settings: VoiceConfig) -> None:
        self.by_number: dict[str, VoiceLine] = {line.number: line for line in settings.lines}
        self.mailboxes: Mapping[str, MailboxConfig] = {mailbox.name: mailbox for mailbox in settings.mailboxes}
        self._own_mailboxes = {mailbox.number: mailbox for mailbox in settings.mailboxes if mailbox.number is not None}
        self._trees: dict[tuple[str, str], IvrTree] = {}
        self._versions: dict[str, str] = {}
        self._changed: set[str] = set()
        self.calls_before: dict[str, int] = {}
        """Number -> how many calls it had before the outcomes of its calls were changed."""

    def apply(self, event: Event) -> None:
        """Change a line by an event. Other events change nothing."""
        match event.payload:
            case MenuChanged() as changed:
                self.find_version(changed.number)  # keep the first tree, also if it never answered
                self.replace_tree(changed.number, IvrTree.model_validate(changed.definition))
                self._changed.add(changed.number)
            case LineChanged() as changed:
                self._change_line(changed)
                self._changed.add(changed.number)

    def _change_line(self, changed: LineChanged) -> None:
        update: dict[str, Any] = {}
        if changed.outcomes is not None:
            update["outcomes"] = changed.outcomes
            self.calls_before[changed.number] = changed.calls_before
        if changed.ring_seconds is not None:
            update["ring"] = timedelta(seconds=changed.ring_seconds)
        self.by_number[changed.number] = self.by_number[changed.number].model_copy(update=update)

    def dump_changes(self) -> dict[str, Any]:
        """Return the lines that differ from the configuration, and their trees, by number."""
        return {
            number: {
                "line": self.by_number[number].model_dump(exclude={"tree", "representatives"}),
                "calls_before": self.calls_before.get(number, 0),
                "version": self.find_version(number),
                "trees": [tree for (owner, _), tree in self._trees.items() if owner == number],
            }
            for number in sorted(self._changed)
        }

    def find(self, number: str) -> VoiceLine | None:
        return self.by_number.get(number)

    def find_mailbox(self, number: str) -> MailboxConfig | None:
        """Return the mailbox that takes the unanswered calls to a number."""
        line = self.by_number.get(number)
        if line is not None and line.mailbox is not None:
            return self.mailboxes.get(line.mailbox)
        return self._own_mailboxes.get(number)

    def find_version(self, number: str) -> str:
        """Return the version of the phone tree that answers at a number now; empty if none does."""
        if number not in self._versions:
            line = self.by_number.get(number)
            if line is None or line.tree is None:
                return ""
            self.replace_tree(number, resolve_tree(line.tree))
        return self._versions[number]

    def list_versions(self, number: str) -> set[str]:
        """Return the versions of the phone trees that a number has had."""
        self.find_version(number)
        return {version for owner, version in self._trees if owner == number}

    def list_trees(self) -> list[IvrTree]:
        """Return the phone trees that the lines have had."""
        for number in self.by_number:
            self.find_version(number)
        return list(self._trees.values())

    def find_tree(self, number: str, version: str) -> IvrTree:
        return self._trees[number, version]

    def replace_tree(self, number: str, tree: IvrTree) -> None:
        """Set the phone tree that answers later calls to a number."""
        self._trees[number, tree.version] = tree
        self._versions[number] = tree.version
