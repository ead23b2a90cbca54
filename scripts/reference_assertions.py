"""What the reference says of assertions as a whole: whose they are, and where two systems read one otherwise."""

from clerkship.assertions.contract import Difference, Engine
from clerkship.engine.catalog import Registered

_WHOSE: dict[str, tuple[Engine, ...]] = {
    "scenario files": ("calm", "mantle"),
    "scenario files of agents with flows": ("calm",),
    "scenario files of agents with skills": ("mantle",),
    "ours": (),
}


def which_are_whose(catalog: Registered) -> str:
    """Where each assertion comes from."""
    rows = "\n".join(f"| {whose} | {_known_to(catalog, engines)} |" for whose, engines in _WHOSE.items())
    return f"""| known to | assertions |
|---|---|
{rows}

A key marked (ours) is not known to the system that scenario files come from. An agent can be checked only for what it
tells of: flows, slots and actions, or skills, memory and tools.
"""


def _known_to(catalog: Registered, engines: tuple[Engine, ...]) -> str:
    return ", ".join(f"`{name}`" for name, check in catalog.assertions.items() if check.engines == engines)


def differences(catalog: Registered) -> str:
    """Where we read an assertion otherwise, each place."""
    names: dict[Difference, list[str]] = {}
    for name, check in catalog.assertions.items():
        for found in check.differences:
            names.setdefault(found, []).append(f"`{name}`")
    rows = "\n".join(f"| {', '.join(whose)} | {d.topic} | {d.ours} | {d.rasa} |" for d, whose in names.items())
    return f"""## Where we read an assertion otherwise

Scenario files come from Rasa, which reads some assertions in ways that few authors expect. A task with `compat: rasa`
is read as it reads them and gets the verdict it would give; any other task is read as the column before says. Keys
marked (ours) mean the same in both.

| assertion | about | ours | `compat: rasa` |
|---|---|---|---|
{rows}
"""
