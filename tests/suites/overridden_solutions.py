"""Reference solutions with some methods of their sandboxes overridden."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clerkship.sandbox.overrides import override_methods

Agent = Callable[[Any, Any], Any]
Verb = Callable[..., Any]
"""Called with the method that it overrides, and its arguments."""


def load_solution(suite: Path, name: str) -> Agent:
    """Load a reference solution."""
    found: Agent = runpy.run_path(str(suite / "solutions" / f"{name}.py"))["on_task"]
    return found


def override_solution(suite: Path, name: str, **verbs: Verb) -> Agent:
    """Return a reference solution with some methods overridden: `ehr_create=…`."""
    overrides = {key.replace("_", ".", 1): how for key, how in verbs.items()}
    return lambda task_item, sandboxes: load_solution(suite, name)(task_item, override_methods(sandboxes, overrides))


def call_twice(verb: Verb, *args: Any, **kwargs: Any) -> Any:
    """Override a method so that it is called twice."""
    verb(*args, **kwargs)
    return verb(*args, **kwargs)
