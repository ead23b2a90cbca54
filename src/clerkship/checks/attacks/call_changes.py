"""Change the calls that a solution makes to its sandboxes, as a variant of the task says."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from pydantic import JsonValue

from clerkship.model.duration import parse_duration
from clerkship.model.matcher import matches_expected
from clerkship.model.path import MISSING, lookup, set_value, split_path
from clerkship.model.variant import WAIT, CallChange, ExtraCall
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.sandbox.overrides import override_methods

Arguments = dict[str, Any]


class ChangedCalls:
    """The changes of one trial. It records which of them had an effect."""

    def __init__(self, changes: Sequence[CallChange]) -> None:
        self._changes = [_AppliedChange(change) for change in changes]

    def wrap(self, sandboxes: Sandboxes) -> Sandboxes:
        """Return the sandboxes for the solution."""
        names = {applied.change.call for applied in self._changes}
        return override_methods(sandboxes, {name: partial(self._call, sandboxes, name) for name in sorted(names)})

    def find_unused(self) -> str:
        """Return which change had no effect; empty if all had."""
        return next((reason for applied in self._changes if (reason := applied.explain_unused())), "")

    def _call(self, sandboxes: Sandboxes, name: str, method: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        signature = inspect.signature(method)
        arguments = bind_arguments(signature, args, kwargs)
        selected = [applied for applied in self._changes if applied.change.call == name and applied.selects(arguments)]
        times = 1
        if selected:
            arguments = deepcopy(arguments)
        for applied in selected:
            applied.change_arguments(arguments)
            times *= applied.change.times
            make_calls(sandboxes, applied.change.before)
        result = None
        for _ in range(times):
            result = _invoke(method, signature, arguments)
        for applied in selected:
            make_calls(sandboxes, applied.change.after)
            result = applied.change_result(result)
        return result


class _AppliedChange:
    def __init__(self, change: CallChange) -> None:
        self.change = change
        self._calls = 0
        self._missing_texts = {*change.replace, *change.substitute}
        self._missing_results = set(change.replace_result)

    def selects(self, arguments: Arguments) -> bool:
        """Return whether it changes a call with these arguments, and count the call."""
        change = self.change
        if not all(matches_expected(expected, lookup(arguments, path)) for path, expected in change.where.items()):
            return False
        self._calls += 1
        return change.occurrence in (None, self._calls)

    def change_arguments(self, arguments: Arguments) -> None:
        """Change the arguments of a call in place."""
        for path, value in self.change.set.items():
            set_value(arguments, split_path(path), deepcopy(value))
        for path, text in self.change.append.items():
            value = lookup(arguments, path)
            added = text.encode() if isinstance(value, bytes) else text
            set_value(arguments, split_path(path), added if value is MISSING else value + added)
        patterns = {re.escape(old): (old, _quote(new)) for old, new in self.change.replace.items()}
        patterns |= {pattern: (pattern, new) for pattern, new in self.change.substitute.items()}
        for pattern, (old, new) in patterns.items():
            replaced = _substitute(arguments, pattern, new)
            if replaced != arguments:
                self._missing_texts.discard(old)
            arguments.update(replaced)

    def change_result(self, result: Any) -> Any:
        """Return what the solution gets in place of the result of a call."""
        change = self.change
        if "returns" in change.model_fields_set:
            result = merge(result, change.returns)
        if change.set_result or change.replace_result:
            result = deepcopy(result)
        for path, value in change.set_result.items():
            set_value(result, split_path(path), deepcopy(value))
        for old, new in change.replace_result.items():
            replaced = _substitute(result, re.escape(old), _quote(new))
            if replaced != result:
                self._missing_results.discard(old)
            result = replaced
        return result

    def explain_unused(self) -> str:
        change = self.change
        if self._calls < (change.occurrence or 1):
            often = f" {change.occurrence} times" if change.occurrence else ""
            arguments = " with these arguments" if change.where else ""
            return f"the solution does not call `{change.call}`{arguments}{often}"
        for part, texts in (("argument", self._missing_texts), ("result", self._missing_results)):
            if texts:
                return f"no {part} of `{change.call}` has the text {min(texts)!r}"
        return ""


def make_calls(sandboxes: Sandboxes, calls: Iterable[ExtraCall]) -> None:
    """Make further calls. A sandbox may refuse them."""
    for call in calls:
        ((name, arguments),) = call.items()
        if name == WAIT:
            sandboxes.wait(parse_duration(arguments))
            continue
        sandbox, _, method = name.partition(".")
        try:
            _call_with(getattr(sandboxes[sandbox], method), deepcopy(arguments))
        except Refused:
            continue


def _call_with(method: Callable[..., Any], arguments: JsonValue) -> None:
    if isinstance(arguments, dict):
        _invoke(method, inspect.signature(method), arguments)
    elif isinstance(arguments, list):
        method(*arguments)
    else:
        method(arguments)


def merge(value: Any, change: JsonValue) -> Any:
    """Return a value with the keys of the change, or the change itself if one of them is no object."""
    both = isinstance(value, Mapping) and isinstance(change, Mapping)
    return {**value, **change} if both else deepcopy(change)  # type: ignore[dict-item]


def bind_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Arguments) -> Arguments:
    """Return the arguments of a call by name; those of `**parameters` by their own names."""
    arguments: Arguments = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        else:
            arguments[name] = list(value) if isinstance(value, tuple) else value
    return arguments


def _invoke(method: Callable[..., Any], signature: inspect.Signature, arguments: Arguments) -> Any:
    """Call a method with arguments by name."""
    known = {name: arguments[name] for name in signature.parameters if name in arguments}
    bound = inspect.BoundArguments(signature, known)
    more = {name: value for name, value in arguments.items() if name not in known}
    return method(*bound.args, **bound.kwargs, **more)


def _substitute(value: Any, pattern: str, new: str) -> Any:
    """Return a value with a pattern replaced in all its texts."""
    if isinstance(value, str):
        return re.sub(pattern, new, value)
    if isinstance(value, bytes):
        return re.sub(pattern.encode(), new.encode(), value)
    if isinstance(value, dict):
        return {key: _substitute(item, pattern, new) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_substitute(item, pattern, new) for item in value)
    return value


def _quote(text: str) -> str:
    """Return a text as a replacement without groups."""
    return text.replace("\\", r"\\")
