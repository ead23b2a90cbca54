"""What the scenario changes about lines."""

from datetime import timedelta

from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.events import LineChanged, MenuChanged
from clerkship.simulators.voice.records import DialOutcome
from clerkship.simulators.voice.state import VoiceState


def change_menu(
    state: VoiceState, action: ActionContext, number: str, tree: IvrTree, version: str | None = None
) -> None:
    """Replace the phone tree of a line for later calls.

    A version is the name of one tree of a line. If `version` is not given and another tree of the line has that of the
    new one, the new one gets a number after it. Raises InputError for an unknown line, or a version that is taken.
    """
    _check_line(state, "voice.menu", number)
    name = version or tree.version
    taken = state.lines.list_versions(number)
    if version is not None and version in taken:
        raise InputError.of(
            f"voice.menu: {number} has a phone tree of version {version!r} already", hint="give it another version"
        )
    count = 2
    while name in taken:
        name, count = f"{tree.version}.{count}", count + 1
    renamed = tree.model_copy(update={"version": name})
    definition = renamed.model_dump(mode="json", exclude_defaults=True)
    action.emit(MenuChanged(number=number, tree=tree.name, version=name, definition=definition))


def change_line(
    state: VoiceState,
    action: ActionContext,
    number: str,
    outcomes: tuple[DialOutcome, ...] | None,
    ring: timedelta | None,
) -> None:
    """Change what later calls to a line meet. Raises InputError for an unknown line."""
    _check_line(state, "voice.line", number)
    action.emit(
        LineChanged(
            number=number,
            outcomes=outcomes,
            ring_seconds=None if ring is None else ring.total_seconds(),
            calls_before=state.calls.rung.get(number, 0),
        )
    )


def _check_line(state: VoiceState, step: str, number: str) -> None:
    if state.lines.find(number) is None:
        known = list(state.lines.by_number)
        hint = did_you_mean(number, known) or f"lines: {', '.join(known[:20]) or 'none'}"
        raise InputError.of(f"{step}: there is no line {number}", hint=hint)
