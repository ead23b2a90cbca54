"""Check the assertions, the steps and the people of a definition: their names exist and their arguments are valid."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Annotated, Any, NamedTuple, Protocol, get_args, get_origin, runtime_checkable

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from clerkship.kit.registry import UnknownName
from clerkship.model.call import ANY_OF, AssertionCall, StepCall, nested_calls
from clerkship.model.closed import ENTITY, OPERATION, PERSON, NameOf, find_unknown_value
from clerkship.model.conversation_key import build_place, normalize_address
from clerkship.model.environment import CONVERSATION_KIND, MESSAGES_KIND, VOICE_KIND
from clerkship.model.located_error import FieldPath
from clerkship.model.names import did_you_mean
from clerkship.model.path import split_path
from clerkship.model.scenario import ScenarioPerson
from clerkship.suite_files.agent_check import AgentCheck
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition, as_list, as_map, read_as
from clerkship.suite_files.environment_check import EnvironmentInfo, check_monitors, is_known
from clerkship.suite_files.record_check import TimedStep, find_missing_records
from clerkship.suite_files.yaml import KeyPath

TASK_SORTS = (ENTITY.sort, PERSON.sort)
"""Sorts of names that only tasks define."""
_PHONE = re.compile(r"\+?\d[\d ().-]{5,}\d")
_WORD = re.compile(r"[^\s,;:\"'<>()\[\]{}]+")
_SORT_OF_CHANNEL = {"phone": "phone number", "sms": "address", "email": "address", "portal": "address"}
_DATA_KEYS = ("where", "fields", "expected", "text", "value", "arguments", "buttons", "assertions")
"""Keys of arguments that hold data, not names. Nested assertions are checked separately."""

WrittenPart = tuple[KeyPath, Mapping[str, Any]]
"""A part of a file, with its path."""


@runtime_checkable
class NamingStep(Protocol):
    """A step that defines names, such as the nodes of a new phone tree."""

    def list_names(self) -> Iterable[tuple[str, str]]:
        """Return the names with their sorts."""


@dataclass(frozen=True)
class TaskNames:
    """The names that a task defines, by sort, and its texts."""

    by_sort: Mapping[str, frozenset[str]] = field(default_factory=dict)
    parts: tuple[Any, ...] = ()
    """The parts of the task that are not criteria, as data."""

    def find(self, sort: str) -> frozenset[str]:
        return self.by_sort.get(sort, frozenset())

    def with_steps(self, steps: Iterable[Any]) -> "TaskNames":
        """Return a copy that also has the names that steps define."""
        named = [pair for step in steps if isinstance(step, NamingStep) for pair in step.list_names()]
        return replace(self, by_sort=_group([*self._list_pairs(), *named])) if named else self

    def _list_pairs(self) -> Iterator[tuple[str, str]]:
        return ((sort, name) for sort, names in self.by_sort.items() for name in names)

    def mentions(self, name: str, normalize: Callable[[str], str]) -> bool:
        """Return whether a text of the task has a name, in any notation."""
        wanted = normalize(name)
        return name in self._text or any(normalize(each) == wanted for each in self._candidates)

    @cached_property
    def _text(self) -> str:
        return "\n".join(_list_texts(self.parts))

    @cached_property
    def _candidates(self) -> frozenset[str]:
        words = (word.rstrip(".!?") for word in _WORD.findall(self._text))
        return frozenset((*_PHONE.findall(self._text), *words))


def collect_task_names(data: Mapping[str, Any], people: Iterable[Mapping[str, Any]]) -> TaskNames:
    """Return the names that a task or scenario file defines, without those of its steps."""
    entities = [data.get("for_each"), *as_list(data.get("entities"))]
    pairs = [(ENTITY.sort, as_map(entity).get("id")) for entity in entities]
    for person in people:
        pairs.append((PERSON.sort, person.get("name", "person")))
        channel, address = person.get("channel"), person.get("address")
        if isinstance(channel, str) and isinstance(address, str) and channel in _SORT_OF_CHANNEL:
            pairs.append((_SORT_OF_CHANNEL[channel], normalize_address(channel, address)))
    parts = tuple(data.get(key) for key in ("task_item", "scenario", "setup", "simulation_context"))
    return TaskNames(_group((sort, name) for sort, name in pairs if isinstance(name, str)), parts)


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    by_sort: dict[str, set[str]] = {}
    for sort, name in pairs:
        by_sort.setdefault(sort, set()).add(name)
    return {sort: frozenset(names) for sort, names in by_sort.items()}


def _list_texts(data: Any) -> Iterator[str]:
    """Yield every text in some data, and every number: YAML reads a phone number without `+` as one."""
    if isinstance(data, Mapping):
        for value in data.values():
            yield from _list_texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _list_texts(value)
    elif isinstance(data, str | int) and not isinstance(data, bool):
        yield str(data)


class NamedValue(NamedTuple):
    """A name in a model, with its path in the file."""

    path: FieldPath
    name: str
    marker: NameOf


class _FieldPlan(NamedTuple):
    """What to look at in a field: names among its values or keys, and models."""

    name: str
    key: str
    """Its key in a file."""
    marker: NameOf | None
    of_keys: bool
    """Whether the names are the keys of a map."""
    has_models: bool


def list_named_values(model: BaseModel) -> Iterator[NamedValue]:
    """Yield every name in a model, and in the models in it. Matchers and patterns are left out."""
    for plan in plan_fields(type(model)):
        value = getattr(model, plan.name)
        if plan.marker is not None:
            for path, name in _list_names(value, of_keys=plan.of_keys):
                if not plan.marker.is_pattern(name):
                    yield NamedValue((plan.key, *path), name, plan.marker)
        if plan.has_models:
            for path, inner in _list_models(value):
                yield from (named._replace(path=(plan.key, *path, *named.path)) for named in list_named_values(inner))


def _list_names(value: Any, *, of_keys: bool) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        if value:
            yield (), value
    elif isinstance(value, list | tuple):
        yield from (((number,), each) for number, each in enumerate(value) if isinstance(each, str))
    elif of_keys and isinstance(value, Mapping):
        yield from (((key,), key) for key in value)


def _list_models(value: Any) -> Iterator[tuple[FieldPath, BaseModel]]:
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, list | tuple):
        yield from (((number,), each) for number, each in enumerate(value) if isinstance(each, BaseModel))
    elif isinstance(value, Mapping):
        yield from (((key,), each) for key, each in value.items() if isinstance(each, BaseModel))


@cache
def plan_fields(model: type[BaseModel]) -> tuple[_FieldPlan, ...]:
    """Return what to look at in each field of a model that has names, or models with names, in it."""
    plans = []
    for name, info in model.model_fields.items():
        marker, of_keys = (ENTITY, False) if name in getattr(model, "entity_fields", ()) else _find_marker(info)
        inner_models = list(find_inner_models(info.annotation))
        has_models = any(inner is model or _has_names(inner, frozenset({model})) for inner in inner_models)
        if marker is not None or has_models:
            plans.append(_FieldPlan(name, info.alias or name, marker, of_keys, has_models))
    return tuple(plans)


def _has_names(model: type[BaseModel], seen: frozenset[type[BaseModel]]) -> bool:
    if model in seen:
        return False
    inside = seen | {model}
    return any(
        _find_marker(info)[0] is not None
        or any(_has_names(inner, inside) for inner in find_inner_models(info.annotation))
        for info in model.model_fields.values()
    )


def find_inner_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from find_inner_models(argument)


def _find_marker(info: FieldInfo) -> tuple[NameOf | None, bool]:
    """Return the marker of a field, and whether it is about the keys of a map."""
    marker = next((each for each in info.metadata if isinstance(each, NameOf)), None)
    if marker is not None:
        return marker, False
    return _find_inner_marker(info.annotation, of_keys=False)


def _find_inner_marker(annotation: Any, *, of_keys: bool) -> tuple[NameOf | None, bool]:
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        marker = next((each for each in arguments[1:] if isinstance(each, NameOf)), None)
        if marker is not None:
            return marker, of_keys
    for number, argument in enumerate(arguments):
        inner = _find_inner_marker(argument, of_keys=get_origin(annotation) is dict and number == 0)
        if inner[0] is not None:
            return inner
    return None, False


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

    def check_monitors(self, written: Any, path: KeyPath) -> None:
        """Check the options of monitors that an environment, a task or a scenario file sets."""
        check_monitors(self.catalog, self.definition, written, path)

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
            self._check_named_values(person.model_copy(update={"sandbox": None}), path, is_criterion=False)

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
                own = self.task.find(marker.sort) or ()
                hint = did_you_mean(wanted, {*own, *known}) or form or ("" if known else "none is defined")
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
        known |= info.names.find(OPERATION.sort, named) or set()
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
        if named is None and not known and not mistaken:
            self._report_missing_kind(info, kind, path)
        elif named is None and len(known) > 1 and not mistaken:
            hint = f"use one of {', '.join(known)}"
            self.definition.problem(path, f"`sandbox` is missing: expected one of kind {kind}", hint)
        elif named is not None and named in info.components and named not in known and named not in mistaken:
            what = "domain" if named in info.domains else "sandbox"
            message = f"`{named}` is not a {what} of kind {kind}"
            self.definition.problem([*path, "sandbox"], message, did_you_mean(named, known))

    def _report_missing_kind(self, info: EnvironmentInfo, kind: str, path: KeyPath) -> None:
        """Report that the environment has no sandbox of a kind, once for all that need one."""
        if kind in info.missing_kinds:
            return
        info.missing_kinds.add(kind)
        is_domain = not is_known(self.catalog.simulator, kind)
        key, what = ("domains", "domain") if is_domain else ("simulators", "sandbox")
        added = f"add `{kind.rpartition('.')[2]}: {{kind: {kind}}}` under `{key}`"
        if info.is_of_folder:
            self.definition.problem(path, f"{info.name} has no {what} of kind {kind}", added)
        else:
            hint = f"add a YAML file with the key `environment`, and {added.removeprefix('add ')}"
            self.definition.problem(path, f"this folder has no environment with a {what} of kind {kind}", hint)


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
