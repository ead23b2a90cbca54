"""Check the variants of a task's solution, `wrong` and `ways`, and read their Python files."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from clerkship.events.reply_calls import REPLY, list_reply_calls
from clerkship.kit.registry import UnknownName
from clerkship.model.names import did_you_mean
from clerkship.model.path import split_path
from clerkship.model.task import Task
from clerkship.model.variant import FUNCTION_MARK, WAIT, ExtraCall, Variant, WrongSolution
from clerkship.suite_files.attachments import Attachments, compile_python
from clerkship.suite_files.call_check import CallCheck
from clerkship.suite_files.environment_check import is_known
from clerkship.suite_files.yaml import KeyPath

V = TypeVar("V", bound=Variant)


@dataclass(frozen=True)
class VariantCheck:
    """Checks the variants of one task."""

    task: Task
    calls: CallCheck
    attachments: Attachments

    def check(self) -> Task:
        """Report mistakes in the variants; return the task with the content of their Python files."""
        task = self.task
        if not (task.wrong or task.ways):
            return task
        self._check_names("wrong", task.wrong)
        self._check_names("ways", task.ways)
        wrong = tuple(self._find_criterion(one, ["wrong", number, "fails"]) for number, one in enumerate(task.wrong))
        update = {
            "wrong": tuple(self._check_variant(one, ["wrong", number]) for number, one in enumerate(wrong)),
            "ways": tuple(self._check_variant(one, ["ways", number]) for number, one in enumerate(task.ways)),
        }
        return task.model_copy(update=update)

    def _check_names(self, key: str, variants: Sequence[Variant]) -> None:
        counts = Counter(variant.name for variant in variants)
        for number, variant in enumerate(variants):
            if counts.pop(variant.name, 1) > 1:
                self.calls.definition.problem([key, number, "name"], f"another entry of `{key}` has the same name")

    def _find_criterion(self, wrong: WrongSolution, path: KeyPath) -> WrongSolution:
        """Return the entry with the label of the criterion that must fail, which may be given by its assertion, or of
        the monitor of that name.
        """
        labels = [criterion.label for criterion in self.task.criteria]
        if wrong.fails in labels:
            return wrong
        same = [criterion.label for criterion in self.task.criteria if criterion.assertion.name == wrong.fails]
        if len(same) == 1:
            return wrong.model_copy(update={"fails": same[0]})
        monitor = self.calls.catalog.monitor
        if not same and is_known(monitor, wrong.fails):
            return wrong.model_copy(update={"fails": getattr(monitor(wrong.fails), "label", wrong.fails)})
        message = f"{len(same)} criteria are `{wrong.fails}`" if same else f"no criterion `{wrong.fails}`"
        hint = f"give a label: {', '.join(same)}" if same else did_you_mean(wrong.fails, labels)
        self.calls.definition.problem(path, message, hint)
        return wrong

    def _check_variant(self, variant: V, path: KeyPath) -> V:
        for number, change in enumerate(variant.changes):
            here = [*path, "changes", number]
            arguments = [split_path(name)[0] for name in (*change.where, *change.set, *change.append)]
            self._check_method(change.call, arguments, [*here, "call"])
            self._check_calls(change.before, [*here, "before"])
            self._check_calls(change.after, [*here, "after"])
        self._check_calls(variant.before, [*path, "before"])
        self._check_calls(variant.after, [*path, "after"])
        if variant.solution is not None:
            return self._read_solution(variant, variant.solution, path)
        if self.task.solution is None:
            message = "the task has no `solution` that could be changed"
            self.calls.definition.problem(path, message, "add one to the task, or to this entry")
        return variant

    def _read_solution(self, variant: V, written: str, path: KeyPath) -> V:
        here = [*path, "solution"]
        file = written.partition(FUNCTION_MARK)[0]
        source = self.attachments.read_python(self.calls.definition, file, here)
        if source is None:
            return variant
        names = [name for name in compile_python(source, file).co_names if name.isidentifier()]
        if variant.function and variant.function not in names:
            hint = did_you_mean(variant.function, names)
            self.calls.definition.problem(here, f"no function `{variant.function}` in the file", hint)
        return variant.with_source(source)

    def _check_calls(self, calls: Iterable[ExtraCall], path: KeyPath) -> None:
        for number, call in enumerate(calls):
            ((name, arguments),) = call.items()
            if name != WAIT:
                self._check_method(name, arguments if isinstance(arguments, dict) else (), [*path, number, name])

    def _check_method(self, call: str, arguments: Iterable[str], path: KeyPath) -> None:
        """Report a sandbox, a method or a parameter that does not exist."""
        sandbox, _, name = call.partition(".")
        scenario, environment = self.task.scenario, self.calls.environment
        if sandbox == REPLY and scenario is not None and scenario.starts == "person":
            known_calls = list_reply_calls(self.calls.catalog.payloads("agent.*"))
            if name in known_calls:
                self._check_arguments(call, arguments, known_calls[name], path)
            else:
                message = f"`{REPLY}` has no method `{name}`"
                self.calls.definition.problem(path, message, did_you_mean(name, known_calls))
            return
        if environment is None:
            return
        if sandbox not in environment.sandboxes:
            hint = did_you_mean(sandbox, environment.sandboxes)
            self.calls.definition.problem(path, f"the environment has no sandbox `{sandbox}`", hint)
            return
        try:
            handle = self.calls.catalog.simulator(environment.sandboxes[sandbox]).handle
        except UnknownName:  # reported with the environment
            return
        method = getattr(handle, name, None)
        if not callable(method):
            known = [each for each in dir(handle) if not each.startswith("_") and callable(getattr(handle, each))]
            self.calls.definition.problem(path, f"`{sandbox}` has no method `{name}`", did_you_mean(name, known))
            return
        parameters = _list_parameters(method)
        if parameters is not None:
            self._check_arguments(call, arguments, parameters, path)

    def _check_arguments(self, call: str, arguments: Iterable[str], known: Sequence[str], path: KeyPath) -> None:
        for argument in arguments:
            if argument not in known:
                hint = did_you_mean(argument, known)
                self.calls.definition.problem(path, f"`{call}` has no parameter `{argument}`", hint)


@cache
def _list_parameters(method: Callable[..., Any]) -> Sequence[str] | None:
    """Return the names of a method's parameters; None if it takes any. Many variants change the same calls."""
    parameters = inspect.signature(method).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return [each for each in parameters if each != "self"]
