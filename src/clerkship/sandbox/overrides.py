"""Sandboxes with some methods overridden, so that a solution does something else than it was written to do."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from clerkship.sandbox.handle import Handle, Sandboxes

Override = Callable[..., Any]
"""Called with the method that it overrides, and with the arguments of the call."""


class _OverriddenHandle:
    """A handle with some methods overridden; calls that its own methods make to each other stay as they are."""

    def __init__(self, handle: Handle, overrides: Mapping[str, Override]) -> None:
        self._overridden, self._overrides = handle, overrides

    __class__ = property(lambda self: type(self._overridden))
    """The class of the handle, for isinstance()."""

    def __getattr__(self, name: str) -> Any:
        original = getattr(self._overridden, name)
        return partial(self._overrides[name], original) if name in self._overrides else original


def override_methods(sandboxes: Sandboxes, overrides: Mapping[str, Override]) -> Sandboxes:
    """Return the same sandboxes with some methods overridden, such as `fax.send`.

    An override gets the original method first, then the arguments of the call.
    """
    by_sandbox: dict[str, dict[str, Override]] = {}
    for name, override in overrides.items():
        sandbox, _, method = name.partition(".")
        by_sandbox.setdefault(sandbox, {})[method] = override
    handles = {name: sandboxes[name] for name in sandboxes}
    for name, methods in by_sandbox.items():
        handles[name] = cast("Handle", _OverriddenHandle(sandboxes[name], methods))
    return sandboxes.with_handles(handles)
