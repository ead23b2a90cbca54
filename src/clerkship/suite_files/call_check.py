"""Check the assertions, the steps and the people of a definition: their names exist and their arguments are valid."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import BaseModel, JsonValue

from clerkship.kit.registry import UnknownName
from clerkship.model.call import ANY_OF, AssertionCall, StepCall, nested_calls
from clerkship.model.closed import NameOf, find_unknown_value
from clerkship.model.conversation_key import build_place
from clerkship.model.environment import CONVERSATION_KIND, MESSAGES_KIND, VOICE_KIND
from clerkship.model.names import did_you_mean
from clerkship.model.path import split_path
from clerkship.model.scenario import ScenarioPerson
from clerkship.suite_files.agent_check import AgentCheck
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.environment_check import EnvironmentInfo, is_known
from clerkship.suite_files.named_fields import list_named_values
from clerkship.suite_files.record_check import TimedStep, find_missing_records
from clerkship.suite_files.shape import as_list, as_map, read_as
from clerkship.suite_files.task_names import TASK_SORTS, TaskNames
from clerkship.suite_files.yaml import KeyPath

_DATA_KEYS = ("where", "fields", "expected", "text", "value", "arguments", "buttons", "assertions")
"""Keys of arguments that hold data, not names. Nested assertions are checked separately."""

WrittenPart = tuple[KeyPath, Mapping[str, Any]]
"""A part of a file, with its path."""


@dataclass(frozen=True)
class CallCheck:
    """Checks the assertions and steps of one definition against the catalog, the agent's names and an environment."""

    catalog: Catalog
    definition: Definition
    agent: AgentCheck
    environment: EnvironmentInfo | None
    """None if it is unknown; then only what needs no environment is checked."""
    task: TaskNames = field(default_factory=TaskNames)
    """The names that the task defines."""

    def check_assertion(self, written: Any, path: KeyPath) -> AssertionCall | None:
        """Check an assertion and return it; return None if it does not have the form of one."""
        call = read_as(AssertionCall, written)
        if call is not None:
            self._check_call("assertion", call.name, call.args, path)
        return call

    def check_steps(self, steps: Any, path: KeyPath) -> list[BaseModel]:
        """Check a list of steps, and that the records they act on exist. Return those that are valid."""
        timed: list[TimedStep] = []
        for number, written in enumerate(as_list(steps)):
            call = read_as(StepCall, written)
            here: KeyPath = [*path, number]
            if call is None:
                timed.append((None, here, None))
                continue
            step = self._check_call("step", call.name, call.args, here)
            timed.append((call.at, [*here, call.name], step))
        if self.environment is not None and self.environment.initial_records:
            for where, message in find_missing_records(timed, self.environment.initial_records):
                self.definition.problem(where, message)
        valid: list[BaseModel] = [step for _, _, step in timed if step is not None]
        named = replace(self, task=self.task.with_steps(valid))
        for _, where, step in timed:
            if step is not None:
                named._check_named_values(step, where, is_criterion=False)
        return valid

    def check_person(self, written: Any, path: KeyPath) -> None:
        """Check the person of a scenario: the sandbox, and the names in the script."""
        person = read_as(ScenarioPerson, written)
        if person is not None:
            if person.channel is None:
                self._check_sandbox(self._converses, person.sandbox, CONVERSATION_KIND, path)
            else:
                kind = VOICE_KIND if person.channel == "phone" else MESSAGES_KIND
                self._check_sandbox(partial(self._has_channel, person.channel), person.sandbox, kind, path)
            self._check_names(person.model_dump(exclude={"persona"}), path)

    def check_one_per_conversation(self, people: Sequence[WrittenPart]) -> None:
        """Report a second person on the same sandbox or at the same address: a conversation has one person."""
        sandboxes = self.environment.sandboxes if self.environment is not None else {}
        conversing = [name for name, kind in sandboxes.items() if self._converses(kind)]
        taken: set[str] = set()
        addresses: set[tuple[str | None, str]] = set()
        for path, person in people:
            channel, address = person.get("channel"), person.get("address")
            if isinstance(channel, str) and isinstance(address, str):
                place = (person.get("sandbox"), build_place(channel, address))
                if place in addresses:
                    self.definition.problem(
                        [*path, "address"],
                        f"two people are at the address {address} on {channel}",
                        "give each person their own address",
                    )
                addresses.add(place)
                continue
            named = person.get("sandbox") or (conversing[0] if len(conversing) == 1 else None)
            if named in taken:
                here = [*path, "sandbox"] if "sandbox" in person else path
                self.definition.problem(
                    here, f"two people are on the sandbox `{named}`", "put each person on their own sandbox"
                )
            taken |= {named} if isinstance(named, str) else set()

    def _check_call(self, sort: str, name: str, args: JsonValue, path: KeyPath) -> BaseModel | None:
        """Return the parsed step or assertion; None if it is invalid, which is reported."""
        try:
            model = self.catalog.assertion(name) if sort == "assertion" else self.catalog.step(name)
        except UnknownName as unknown:
            self.definition.problem([*path, name], f"unknown {sort} `{name[:60]}`", unknown.hint, key=True)
            return None
        here = [*path, name]
        parsed = self.definition.read(model, args if args is not None else {}, here)
        if sort == "assertion":
            self.agent.check_assertion(name, args, here, self.definition)
            if name == ANY_OF:
                self._check_alternatives(args, here)
        self._check_names(parsed.model_dump() if parsed is not None else args, here)
        if parsed is not None and sort == "step" and name.startswith("fault."):
            self._check_operation(parsed.model_dump(), here)
        if self.environment is not None:
            self.definition.report_mistakes(parsed, here, self.environment.domains.values())
        if parsed is not None and sort == "assertion":
            self._check_named_values(parsed, here, is_criterion=True)
        kind = self.catalog.acts_on(sort, name)
        if parsed is not None and kind is not None:
            self._check_sandbox(kind.__eq__, getattr(parsed, "sandbox", None), kind, here)
        return parsed

    def _check_alternatives(self, args: JsonValue, path: KeyPath) -> None:
        """Check each assertion of an `any_of`. Warn of one that passes on inaction, because it makes the whole pass."""
        for within, call in nested_calls(args):
            here = [*path, *within]
            self._check_call("assertion", call.name, call.args, here)
            if self.catalog.passes_on_inaction(call):
                message = f"`{call.name}` can also pass when the agent does nothing, and then this `any_of` passes too"
                hint = "make it a separate criterion, or assert what must happen"
                self.definition.warning([*here, call.name], message, hint)

    def _check_named_values(self, parsed: BaseModel, path: KeyPath, *, is_criterion: bool) -> None:
        """Check that the names in a step or assertion exist, except those that a template fills in."""
        component = getattr(parsed, "sandbox", None)
        for place, name, marker in list_named_values(parsed):
            wanted, here = marker.normalize(name), [*path, *place]
            if wanted in self.task.find(marker.sort) or self._is_filled_in(here):
                continue
            known, where = self._find_known_names(marker.sort, component)
            if known is None or wanted in known:
                continue
            is_open = is_criterion and marker.or_mentioned and marker.has_form(name)
            if not is_open or not self._is_mentioned(name, marker):
                form = f"expected {marker.form}" if marker.form and not marker.has_form(name) else ""
                hint = did_you_mean(wanted, known) or form or ("" if known else "none is defined")
                note = "one that the task or a dataset mentions is accepted too"
                hint = hint if not is_open else f"{hint} ({note})" if hint else note
                self.definition.problem(here, f"no {marker.sort} `{name[:60]}`{where}", hint)

    def _find_known_names(self, sort: str, component: str | None) -> tuple[frozenset[str] | None, str]:
        """Return the names of a sort, None if they are unknown, and where they are defined, for an error."""
        if sort in TASK_SORTS:
            return self.task.find(sort), ""
        info = self.environment
        return (None, "") if info is None else (info.names.find(sort, component), f" in {info.name}")

    def _is_mentioned(self, name: str, marker: NameOf) -> bool:
        """Return whether the task outside its criteria, or a dataset of the environment, has a name."""
        if self.task.mentions(name, marker.normalize):
            return True
        return self.environment is not None and self.environment.names.mention(name)

    def _is_filled_in(self, path: KeyPath) -> bool:
        """Return whether the text at a path has a template or a variable in the file."""
        data = self.definition.data
        for key in path:
            if isinstance(data, Mapping):
                data = data.get(key, data)
            elif isinstance(data, list) and isinstance(key, int) and key < len(data):
                data = data[key]
        return isinstance(data, str) and any(sign in data for sign in ("{{", "{%", "${"))

    def _check_names(self, data: Any, path: KeyPath) -> None:
        """Check that the sandboxes, domains and event kinds in the arguments exist."""
        for here, part in _find_maps(data, path):
            sandbox, event = part.get("sandbox"), part.get("event")
            info = self.environment
            if isinstance(sandbox, str) and info is not None and sandbox not in info.components:
                hint = did_you_mean(sandbox, info.components) or "the environment has no sandboxes"
                self.definition.problem([*here, "sandbox"], f"no sandbox `{sandbox}` in {info.name}", hint)
            if isinstance(event, str):
                self._check_event(event, as_map(part.get("where")), here)

    def _check_event(self, name: str, where: Mapping[str, Any], path: KeyPath) -> None:
        """Check that an event kind exists, that the paths in `where` start at a field of its payload, and that values
        of closed sets exist.

        A condition on an unknown field or value would never match, so a `never` on it would always pass.
        """
        payloads = self.catalog.payloads(name)
        if not payloads:
            known = set(self.catalog.event_names())
            message = f"unknown event `{name}`"
            if "*" in name:
                known = {f"{kind.split('.')[0]}.*" for kind in known}
                message = f"no event matches `{name}`"
            hint = self.catalog.missing(name) or did_you_mean(name, known)
            self.definition.problem([*path, "event"], message, hint)
            return
        fields = {field for payload in payloads.values() for field in payload.model_fields}
        for key, expected in where.items():
            first = next(iter(split_path(key)), "")
            if first not in fields:
                hint = did_you_mean(first, fields)
                self.definition.problem([*path, "where", key], f"`{name}` has no field `{first}`", hint, key=True)
                continue
            having = [payload for payload in payloads.values() if first in payload.model_fields]
            unknown = [find_unknown_value(payload, key, expected) for payload in having]
            if all(unknown):  # a pattern may match several kinds: one with such a value is enough
                self.definition.problem([*path, "where", key], unknown[0])

    def _check_operation(self, fault: Mapping[str, Any], path: KeyPath) -> None:
        """Report a fault on a domain or on an unknown operation: it would never be triggered."""
        operation, named, info = fault.get("operation"), fault.get("sandbox"), self.environment
        if info is None:
            return
        if named in info.domains:
            message = f"`{named}` is a domain: it gets no requests, so a fault has no effect on it"
            self.definition.problem([*path, "sandbox"], message, did_you_mean(str(named), info.sandboxes))
            return
        kinds = [kind for name, kind in info.sandboxes.items() if named in (None, name)]
        if operation is None or not kinds or not all(is_known(self.catalog.simulator, kind) for kind in kinds):
            return
        known = {known for kind in kinds for known in self.catalog.operations(kind)}
        if operation not in known:
            message = f"{f'`{named}`' if named is not None else info.name} has no operation `{operation}`"
            self.definition.problem([*path, "operation"], message, did_you_mean(operation, known))

    def _converses(self, kind: str) -> bool:
        return is_known(self.catalog.simulator, kind) and self.catalog.simulator(kind).converses

    def _has_channel(self, channel: str, kind: str) -> bool:
        return is_known(self.catalog.simulator, kind) and channel in self.catalog.simulator(kind).channels

    def _check_sandbox(self, fits: Callable[[str], bool], named: str | None, kind: str, path: KeyPath) -> None:
        """Check that the given sandbox or domain is of the right kind, or that there is only one of that kind.

        A component of unknown kind is not reported here: its kind may be a misspelling of the right one.
        """
        info = self.environment
        if info is None:
            return
        known = [name for name, other in info.components.items() if fits(other)]
        mistaken = [name for name, other in info.components.items() if not is_known(self.catalog.event_kinds, other)]
        if named is None and len(known) != 1 and not mistaken:
            hint = f"use one of {', '.join(known)}" if known else "the environment has none"
            self.definition.problem(path, f"`sandbox` is missing: expected one of kind {kind}", hint)
        elif named is not None and named in info.components and named not in known and named not in mistaken:
            what = "domain" if named in info.domains else "sandbox"
            message = f"`{named}` is not a {what} of kind {kind}"
            self.definition.problem([*path, "sandbox"], message, did_you_mean(named, known))


def _find_maps(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """Yield every map in some arguments, except below keys that hold data."""
    if isinstance(data, Mapping):
        yield path, data
        for key, value in data.items():
            if key not in _DATA_KEYS:
                yield from _find_maps(value, [*path, key])
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from _find_maps(value, [*path, number])
