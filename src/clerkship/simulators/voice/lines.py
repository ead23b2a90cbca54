"""The lines that can be called, and their phone trees."""

from collections.abc import Mapping

from clerkship.ivr.tree import IvrTree
from clerkship.simulators.voice.config import MailboxConfig, VoiceConfig, VoiceLine


class LineTable:
    """The lines of the configuration by number, with each version of their phone trees.

    A call keeps the version of the tree that it came to.
    """

    def __init__(self, settings: VoiceConfig) -> None:
        self.by_number: Mapping[str, VoiceLine] = {line.number: line for line in settings.lines}
        self.mailboxes: Mapping[str, MailboxConfig] = {mailbox.name: mailbox for mailbox in settings.mailboxes}
        self._own_mailboxes = {mailbox.number: mailbox for mailbox in settings.mailboxes if mailbox.number is not None}
        self._trees: dict[tuple[str, str], IvrTree] = {}
        self._versions: dict[str, str] = {}

    def find(self, number: str) -> VoiceLine | None:
        """Return the line with a number."""
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
            if line is None or not isinstance(line.tree, IvrTree):
                return ""
            self.replace_tree(number, line.tree)
        return self._versions[number]

    def find_tree(self, number: str, version: str) -> IvrTree:
        """Return a version of the phone tree of a number."""
        return self._trees[number, version]

    def replace_tree(self, number: str, tree: IvrTree) -> None:
        """Set the phone tree that answers later calls to a number."""
        self._trees[number, tree.version] = tree
        self._versions[number] = tree.version
