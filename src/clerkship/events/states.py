"""Look up the state of a sandbox or domain by its type."""

from collections.abc import Mapping
from typing import Any, TypeVar

from clerkship.model.errors import InputError

S = TypeVar("S")


class NoSuchState(InputError):
    """No sandbox or domain has a state of the type asked for, or several have and none is named."""


def find_state(states: Mapping[str, object], kind: type[S], name: str | None = None) -> tuple[str, S]:
    """Return the name and the state of the component named; without a name, of the only one with this type of state.

    Raises NoSuchState where there is none, or where a name is needed to choose.
    """
    fitting: dict[str, Any] = {each: state for each, state in states.items() if kind in type(state).__mro__}
    chosen = next(iter(fitting)) if name is None and len(fitting) == 1 else name
    if chosen is not None and chosen in fitting:
        return chosen, fitting[chosen]
    if not fitting:
        raise NoSuchState.of(f"the environment has no sandbox or domain with a {kind.__name__}")
    known = ", ".join(fitting)
    if chosen is None:
        raise NoSuchState.of(f"name the sandbox: there are {len(fitting)} of this kind ({known})")
    raise NoSuchState.of(f"no sandbox `{chosen}` of this kind", hint=f"there is {known}")
