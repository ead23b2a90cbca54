"""`voice.menu`: replace the phone tree of a line."""

from collections.abc import Collection, Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.formats.phone_tree.shipped import list_trees
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.model.located_error import CheckedModel, FoundMistake
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.voice.config import PhoneNumber
from clerkship.simulators.voice.line_changes import change_menu
from clerkship.simulators.voice.names import LINE, list_tree_names
from clerkship.simulators.voice.state import VoiceState
from clerkship.simulators.voice.tree_source import find_tree_mistakes, resolve_tree


class ChangeMenu(Step, CheckedModel):
    """Replaces the phone tree of a line. Calls that have reached the line keep the old tree; later calls get the new
    one.
    """

    name: ClassVar[str] = "voice.menu"
    simulator: ClassVar[str | None] = "voice"
    number: Annotated[PhoneNumber, LINE, Field(description="number of the line")]
    tree: Annotated[
        str | IvrTree,
        Field(
            description="the new phone tree: the name of one that ships, or a whole tree, such as `!include new.yml`"
        ),
    ]
    version: Annotated[
        str | None, Field(max_length=40, description="the version of the tree, if it differs from the one it names")
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def find_mistakes(self, domains: Collection[str]) -> Iterable[FoundMistake]:
        """Return the mistakes in the tree, as far as they do not depend on the line, which is not known here."""
        for mistake in find_tree_mistakes(self.tree, None, domains):
            yield mistake._replace(path=("tree", *mistake.path))

    def list_names(self) -> Iterable[tuple[str, str]]:
        """Return the nodes of the new tree."""
        is_known = isinstance(self.tree, IvrTree) or self.tree in list_trees()
        return list_tree_names(resolve_tree(self.tree)) if is_known else ()

    def run(self, host: StepHost) -> None:
        """Replace the tree. Raises InputError if there is no such line."""
        state, action = host.state(VoiceState, self.sandbox)
        tree = resolve_tree(self.tree)
        change_menu(state, action, self.number, tree, self.version)
