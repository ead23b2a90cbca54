"""All hooks, by name."""

from collections.abc import Mapping

from clerkship.simulators.voice.hooks import chart, office, payer
from clerkship.simulators.voice.hooks.contract import Hook, HookContext, HookResult

HOOKS: Mapping[str, Hook] = {hook.name: hook for hook in (*payer.HOOKS, *chart.HOOKS, *office.HOOKS)}


def find_hook(name: str) -> Hook | None:
    """Return a hook by its name; None if there is none."""
    return HOOKS.get(name)


def list_domain_kinds() -> set[str]:
    """Return the kinds of domains that hooks need."""
    return {hook.needs for hook in HOOKS.values() if hook.needs}


def run_hook(
    context: HookContext, hook: Hook, arguments: Mapping[str, str], values: Mapping[str, str]
) -> tuple[dict[str, str], HookResult]:
    """Run a hook, and return its arguments and its result.

    A required argument that is not given is the value of its name.
    """
    required = {name: arguments.get(name, values.get(name, "")) for name in hook.inputs}
    complete = required | {name: arguments[name] for name in hook.optional if arguments.get(name)}
    return complete, hook.run(context, complete)
