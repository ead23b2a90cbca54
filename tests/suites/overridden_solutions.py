"""Reference solutions with some methods of their sandboxes overridden."""

import runpy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

Agent = Callable[[Any, Any], Any]
Verb = Callable[..., Any]
"""Called with the method that it overrides, and its arguments."""


def load_solution(suite: Path, name: str) -> Agent:
    """Load a reference solution."""
    found: Agent = runpy.run_path(str(suite / "solutions" / f"{name}.py"))["on_task"]
    return found


class OverriddenHandle:
    """A handle with some methods overridden."""

    def __init__(self, handle: Any, verbs: Mapping[str, Verb]) -> None:
        self._handle, self._verbs = handle, verbs

    def __getattr__(self, name: str) -> Any:
        """Return the overriding method, or the original one."""
        straight = getattr(self._handle, name)
        return partial(self._verbs[name], straight) if name in self._verbs else straight


class OverriddenSandboxes:
    """All sandboxes, with some methods (`lab.acknowledge`) overridden."""

    def __init__(self, sandboxes: Any, verbs: Mapping[str, Verb]) -> None:
        self._sandboxes, self._verbs = sandboxes, verbs

    def __getitem__(self, name: str) -> OverriddenHandle:
        """One of them."""
        own = {verb.partition(".")[2]: how for verb, how in self._verbs.items() if verb.partition(".")[0] == name}
        return OverriddenHandle(self._sandboxes[name], own)

    def __getattr__(self, name: str) -> Any:
        """The clock."""
        return getattr(self._sandboxes, name)


def override_solution(suite: Path, name: str, **verbs: Verb) -> Agent:
    """Return a reference solution with some methods overridden: `ehr_create=…`."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        return load_solution(suite, name)(
            task_item, OverriddenSandboxes(sandboxes, {key.replace("_", ".", 1): how for key, how in verbs.items()})
        )

    return on_task


def act_after(agent: Agent, act: Callable[[Any], object]) -> Agent:
    """Return an agent that does something else afterwards, with its sandboxes."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        answer = agent(task_item, sandboxes)
        act(sandboxes)
        return answer

    return on_task


def act_before(agent: Agent, act: Callable[[Any], object]) -> Agent:
    """Return an agent that does something else first, with its sandboxes."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        act(sandboxes)
        return agent(task_item, sandboxes)

    return on_task


def do_nothing(_: Verb, *__: Any, **___: Any) -> None:
    """Override a method so that it does nothing."""


def call_twice(verb: Verb, *args: Any, **kwargs: Any) -> Any:
    """Override a method so that it is called twice."""
    verb(*args, **kwargs)
    return verb(*args, **kwargs)
