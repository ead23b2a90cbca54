"""`voice.menu`: replace the phone tree of a line."""

from collections.abc import Collection, Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.formats.phone_tree.shipped import list_trees
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.errors import InputError
from clerkship.model.located_error import CheckedModel, FoundMistake
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.voice.events import MenuChanged
from clerkship.simulators.voice.names import LINE, list_tree_names
from clerkship.simulators.voice.state import VoiceState
from clerkship.simulators.voice.steps.line import check_line
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
        """Replace the tree for later calls. Raises InputError for an unknown line, or a version that is taken.

        A version is the name of one tree of a line. If none is given and another tree of the line has that of the new
        one, the new one gets a number after it.
        """
        state, action = host.state(VoiceState, self.sandbox)
        check_line(state, self.name, self.number)
        tree, taken = resolve_tree(self.tree), state.lines.list_versions(self.number)
        version, count = self.version or tree.version, 2
        if self.version is not None and version in taken:
            raise InputError.of(
                f"{self.name}: {self.number} has a phone tree of version {version!r} already",
                hint="give it another version",
            )
        while version in taken:
            version, count = f"{tree.version}.{count}", count + 1
        definition = tree.model_copy(update={"version": version}).model_dump(mode="json", exclude_defaults=True)
        action.emit(MenuChanged(number=self.number, tree=tree.name, version=version, definition=definition))
