"""Whether the names in a file mean something, and their arguments fit: steps, assertions, sandboxes, reactions.

Each part of a file is read by itself here, so that a mistake in one does not hide the mistakes in the others. A part
that is not of the right shape is passed over: the model it belongs to has complained of it.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from clerkship.kit.registry import UnknownName
from clerkship.library.catalog import Catalog
from clerkship.library.known import Known
from clerkship.library.note import Note, NoteAll, Path
from clerkship.library.sequence import Shelf, Timed, missing
from clerkship.model.call import ANY_OF, AssertionCall, StepCall, nested_calls
from clerkship.model.environment import (
    CONVERSATION_KIND,
    RESERVED,
    SOURCES,
    ComponentChoice,
    Reaction,
    SharedDomain,
    Simulator,
)
from clerkship.model.names import did_you_mean
from clerkship.model.path import split
from clerkship.model.problem import PlatformError
from clerkship.model.scenario import Person

M = TypeVar("M", bound=BaseModel)
_CLOSED = ("where", "fields", "expected", "text", "value", "arguments", "buttons", "assertions")
"""Keys under which an author writes data, not names; assertions inside another are checked by themselves."""

_COMPONENTS: Mapping[str, type[ComponentChoice]] = {"simulators": Simulator, "domains": SharedDomain}
"""Keys of an environment under which sandboxes and domains stand."""

_OF_CONVERSATIONS = ("initial_slots", "stubs", "max_turns", "turn_timeout")
"""Keys of a scenario that hold for conversations that the person begins."""


@dataclass(frozen=True)
class Surroundings:
    """An environment as far as a task can name it: sandboxes and domains with their kinds, empty where mistaken."""

    name: str
    sandboxes: Mapping[str, str]
    domains: Mapping[str, str]
    shelves: Mapping[str, Shelf]
    """The records that its charts begin with, as far as they could be read."""

    @property
    def components(self) -> Mapping[str, str]:
        """Sandboxes and domains: what `sandbox` can name, but in a fault."""
        return {**self.sandboxes, **self.domains} if self.domains else self.sandboxes


def surroundings(data: Mapping[str, Any], shelves: Mapping[str, Shelf] | None = None) -> Surroundings:
    """What an environment's file says is there, well written or badly."""
    sandboxes, domains = (_kinds(as_map(data.get(key)), model) for key, model in _COMPONENTS.items())
    return Surroundings(str(data.get("name")), sandboxes, domains, shelves or {})


def _kinds(written: Mapping[str, Any], model: type[ComponentChoice]) -> dict[str, str]:
    choices = {name: _read(model, choice) for name, choice in written.items()}
    return {name: choice.kind if choice is not None else "" for name, choice in choices.items()}


@dataclass(frozen=True)
class Checker:
    """Checks one piece against the catalog, and against what is known of the agent."""

    catalog: Catalog
    note: Note
    note_all: NoteAll
    warn: Note
    known: Known

    def check_environment(self, data: Mapping[str, Any], datasets: Collection[str]) -> None:
        """Kinds, configs, datasets and reactions."""
        named = [(n, name) for n, name in enumerate(as_list(data.get("datasets"))) if isinstance(name, str)]
        for number, name in named:
            if name not in datasets:
                self.note(["datasets", number], f"unknown dataset `{name}`", did_you_mean(name, datasets))
        place = surroundings(data)
        self._check_component_names(place)
        for key, model in _COMPONENTS.items():
            for name, written in as_map(data.get(key)).items():
                choice = _read(model, written)
                if choice is not None:
                    self._check_component(choice, [key, name], [name for _, name in named])
        for name, kind in place.sandboxes.items():
            self._check_called_domains(kind, ["simulators", name], place)
        for number, written in enumerate(as_list(data.get("reactions"))):
            reaction = _read(Reaction, written)
            if reaction is not None:
                self._check_reaction(reaction, ["reactions", number], place.components)

    def _check_component_names(self, place: Surroundings) -> None:
        """No sandbox or domain has the name of something else that a request or an event could mean."""
        for name in place.sandboxes.keys() & RESERVED.keys():
            message = f"`{name}` is the name of {RESERVED[name]}"
            self.note(["simulators", name], message, "call the sandbox something else", key=True)
        taken = RESERVED | SOURCES | dict.fromkeys(place.sandboxes, "a sandbox")
        for name in place.domains.keys() & taken.keys():
            message = f"`{name}` is the name of {taken[name]}"
            self.note(["domains", name], message, "call the domain something else", key=True)

    def _check_component(self, choice: ComponentChoice, path: Path, datasets: Collection[str]) -> None:
        is_domain = isinstance(choice, SharedDomain)
        try:
            entry = self.catalog.domain(choice.kind) if is_domain else self.catalog.simulator(choice.kind)
        except UnknownName as unknown:
            self.note([*path, "kind"], f"unknown {unknown.what} `{choice.kind}`", unknown.hint)
        else:
            self._check_args(entry.config, choice.config, [*path, "config"])
        for number, wanted in enumerate(choice.datasets or ()):
            if wanted not in datasets:
                hint = did_you_mean(wanted, datasets) or "it names none under `datasets`"
                self.note([*path, "datasets", number], f"`{wanted}` is not a dataset of this environment", hint)

    def _check_called_domains(self, kind: str, path: Path, place: Surroundings) -> None:
        """The domains that a simulator's operations call are there. A mistaken kind may be the right one."""
        kinds = place.domains.values()
        for domain in self.catalog.simulator(kind).domains if self._is_simulator(kind) else ():
            if domain.kind not in kinds and all(map(self._is_component, kinds)):
                example = f"`{domain.kind.rpartition('.')[2]}: {{kind: {domain.kind}}}`"
                self.note(path, f"{kind} needs a domain of kind {domain.kind}", f"add {example} under `domains`")

    def _check_reaction(self, reaction: Reaction, path: Path, components: Mapping[str, str]) -> None:
        known = True
        for name in dict.fromkeys((reaction.source, reaction.target)):
            if name not in components:
                self.note(path, f"unknown sandbox `{name}`", did_you_mean(name, components))
            known = known and name in components and self._is_component(components[name])
        if not known:
            return
        try:
            self._check_pair(reaction, path, components[reaction.source], components[reaction.target])
        except PlatformError as broken:
            self.note(path, str(broken))

    def _check_pair(self, reaction: Reaction, path: Path, source: str, target: str) -> None:
        kinds = [kind.removeprefix(f"{source}.") for kind in self.catalog.event_kinds(source)]
        meant = [kind for kind in kinds if reaction.means(kind)]
        if not meant:
            self.note(path, f"{source} has no event `{reaction.event}`", did_you_mean(reaction.event, kinds))
            return
        taken = self.catalog.reactions(source, target)
        if not any(f"{source}.{kind}" in taken for kind in meant):
            message = f"{target} does not take in {source}.{reaction.event}"
            self.note(path, message, f"it takes in {', '.join(self.catalog.reacts_to(target)) or 'nothing'}")

    def _is_simulator(self, kind: str) -> bool:
        try:
            self.catalog.simulator(kind)
        except UnknownName:
            return False
        return True

    def _is_component(self, kind: str) -> bool:
        try:
            self.catalog.event_kinds(kind)
        except UnknownName:
            return False
        return True

    def _is_assertion(self, name: str) -> bool:
        try:
            self.catalog.assertion(name)
        except UnknownName:
            return False
        return True

    def check_task(self, data: Mapping[str, Any], place: Surroundings | None) -> None:
        """Criteria, steps and the person; without a place, what can be said without one."""
        written = [data.get("for_each"), *as_list(data.get("entities"))]
        entities = [entity.get("id") for entity in written if isinstance(entity, dict)]
        for number, criterion in enumerate(as_list(data.get("criteria"))):
            self._check_criterion(as_map(criterion), ["criteria", number], entities, place)
        scenario = data.get("scenario")
        alone = isinstance(scenario, list)
        steps = scenario if alone else as_map(scenario).get("steps")
        self._check_steps(steps, ["scenario"] if alone else ["scenario", "steps"], place)
        self._check_person(as_map(scenario).get("person"), ["scenario", "person"], place)
        if as_map(scenario).get("starts", "agent") == "agent":
            self._check_unused(as_map(scenario))
        self.known.check_slots(as_map(scenario).get("initial_slots"), ["scenario", "initial_slots"], self.note)

    def _check_unused(self, scenario: Mapping[str, Any]) -> None:
        """What would be dropped where the agent starts: the person begins nothing, and no turns are handed out."""
        if as_map(scenario.get("person")).get("opening") is not None:
            message = "`opening` is never said: the agent starts this task"
            hint = "write `starts: person`, or put the line under `lines` or `script`"
            self.note(["scenario", "person", "opening"], message, hint)
        for key in _OF_CONVERSATIONS:
            if scenario.get(key) not in (None, {}):
                message = f"`{key}` is not used: the agent starts this task"
                self.note(["scenario", key], message, "write `starts: person`, or leave it out")

    def check_scenario(self, data: Mapping[str, Any], place: Surroundings | None) -> None:
        """A scenario file: its assertions, its person, and what else it sets up."""
        setup, goals = as_map(data.get("setup")), as_map(data.get("goals"))
        for number, written in enumerate(as_list(goals.get("assertions"))):
            call = _read(AssertionCall, written)
            if call is not None:
                self._check_call("assertion", call.name, call.args, ["goals", "assertions", number], place)
        self._check_steps(setup.get("steps"), ["setup", "steps"], place)
        self._check_person(setup.get("person") or {}, ["setup", "person"], place)
        self.known.check_slots(setup.get("initial_slots"), ["setup", "initial_slots"], self.note)
        for number, written in enumerate(as_list(goals.get("expected_tools"))):
            for key in as_map(written).keys() & {"tool_called", "tool_group"}:
                path: Path = ["goals", "expected_tools", number, key]
                self.known.check_assertion(key, written[key], path, self.note, self.warn)

    def check_assertion(self, written: Any, path: Path, place: Surroundings | None) -> None:
        """One assertion, wherever it stands."""
        call = _read(AssertionCall, written)
        if call is not None:
            self._check_call("assertion", call.name, call.args, path, place)

    def _check_steps(self, steps: Any, path: Path, place: Surroundings | None) -> None:
        timed: list[Timed] = []
        for number, written in enumerate(as_list(steps)):
            call = _read(StepCall, written)
            here: Path = [*path, number]
            if call is None:
                timed.append((None, here, None))
                continue
            step = self._check_call("step", call.name, call.args, here, place)
            timed.append((call.at, [*here, call.name], step))
        if place is not None and place.shelves:
            for where, message in missing(timed, place.shelves):
                self.note(where, message)

    def _check_person(self, written: Any, path: Path, place: Surroundings | None) -> None:
        person = _read(Person, written)
        if person is not None and place is not None:
            self._check_place(self._converses, person.sandbox, CONVERSATION_KIND, path, place)
        if person is not None:
            self._check_names(person.model_dump(exclude={"persona"}), path, place)

    def _check_criterion(
        self, data: Mapping[str, Any], path: Path, entities: list[Any], place: Surroundings | None
    ) -> None:
        call = _read(AssertionCall, data.get("assertion"))
        if call is not None:
            self._check_call("assertion", call.name, call.args, [*path, "assertion"], place)
            for within, leaf in call.leaves():
                self._check_entity_fields(leaf, [*path, "assertion", *within], entities)
                self._check_narrowing(leaf, data.get("input_entity_id"), [*path, "input_entity_id"])
        self._check_entity(data.get("input_entity_id"), [*path, "input_entity_id"], entities)

    def _check_entity(self, wanted: Any, path: Path, entities: list[Any]) -> None:
        if isinstance(wanted, str) and wanted not in entities:
            hint = did_you_mean(wanted, [name for name in entities if isinstance(name, str)])
            self.note(path, f"no entity `{wanted}`", hint or "the task has no entities")

    def _check_entity_fields(self, call: AssertionCall, path: Path, entities: list[Any]) -> None:
        known = isinstance(call.args, dict) and self._is_assertion(call.name)
        for field in self.catalog.entity_fields(call.name) if known else ():
            named = as_map(call.args).get(field)
            for number, name in enumerate(as_list(named)):
                self._check_entity(name, [*path, field, number], entities)
            self._check_entity(named, [*path, field], entities)

    def _check_narrowing(self, call: AssertionCall, entity: Any, path: Path) -> None:
        """What is narrowed to one record, and asks for others' than that, finds nothing and never fails."""
        known = isinstance(entity, str) and self._is_assertion(call.name)
        for field in self.catalog.entity_fields(call.name) if known else ():
            if as_map(call.args).get(field) is not None:
                message = f"`input_entity_id` and `{field}` do not go together: about {entity} alone it cannot fail"
                self.note(path, message, "leave out `input_entity_id`")

    def check_scopes(self, written: Mapping[str, Any]) -> None:
        """Of a task as it is written: an `input_entity_id` that narrows nothing, and whose record the assertion says
        nothing of either, is not what its author takes it for."""
        for number, criterion in enumerate(map(as_map, as_list(written.get("criteria")))):
            call, entity = _read(AssertionCall, criterion.get("assertion")), criterion.get("input_entity_id")
            if call is None or not isinstance(entity, str):
                continue
            for leaf in {leaf.name: leaf for _, leaf in call.leaves() if self._ignores_entity(leaf, entity)}.values():
                message = f"`input_entity_id` does not narrow `{leaf.name}`, which looks at everything"
                hint = f"put the record in by template, {{{{ {entity}.… }}}}"
                self.warn(["criteria", number, "input_entity_id"], message, hint)

    def _ignores_entity(self, call: AssertionCall, entity: str) -> bool:
        known = self._is_assertion(call.name)
        return known and not self.catalog.is_scoped(call.name) and not _mentions(call.args, entity)

    def _check_call(
        self, sort: str, name: str, args: JsonValue, path: Path, place: Surroundings | None
    ) -> BaseModel | None:
        """Return the step or the assertion; None where a mistake in it was reported."""
        try:
            model = self.catalog.assertion(name) if sort == "assertion" else self.catalog.step(name)
        except UnknownName as unknown:
            self.note([*path, name], f"unknown {sort} `{name[:60]}`", unknown.hint, key=True)
            return None
        parsed = self._check_args(model, args, [*path, name])
        if sort == "assertion":
            self.known.check_assertion(name, args, [*path, name], self.note, self.warn)
            if name == ANY_OF:
                self._check_alternatives(args, [*path, name], place)
        self._check_names(parsed.model_dump() if parsed is not None else args, [*path, name], place)
        if sort == "step" and name.startswith("fault.") and parsed is not None and place is not None:
            self._check_operation(parsed.model_dump(), [*path, name], place)
        kind = self.catalog.acts_on(sort, name)
        if parsed is not None and kind is not None and place is not None:
            self._check_place(kind.__eq__, getattr(parsed, "sandbox", None), kind, [*path, name], place)
        return parsed

    def _check_alternatives(self, args: JsonValue, path: Path, place: Surroundings | None) -> None:
        """Check each assertion of an `any_of`. One that passes on inaction makes the whole pass then."""
        for within, call in nested_calls(args):
            here = [*path, *within]
            self._check_call("assertion", call.name, call.args, here, place)
            if self.catalog.passes_on_inaction(call):
                message = f"`{call.name}` can also pass when the agent does nothing, and then so does this `any_of`"
                self.warn([*here, call.name], message, "make it a criterion of its own, or assert what must happen")

    def _check_args(self, model: type[BaseModel], args: Any, path: Path) -> BaseModel | None:
        try:
            return model.model_validate(args if args is not None else {})
        except ValidationError as error:
            self.note_all(error, model, path)
            return None

    def _check_names(self, data: Any, path: Path, place: Surroundings | None) -> None:
        """Wherever arguments name a sandbox, a domain or an event kind, it must exist."""
        for here, part in _maps(data, path):
            sandbox, event = part.get("sandbox"), part.get("event")
            if isinstance(sandbox, str) and place is not None and sandbox not in place.components:
                hint = did_you_mean(sandbox, place.components) or "it has no sandboxes"
                self.note([*here, "sandbox"], f"no sandbox `{sandbox}` in {place.name}", hint)
            if isinstance(event, str):
                self._check_event(event, as_map(part.get("where")), here)

    def _check_event(self, name: str, where: Mapping[str, Any], path: Path) -> None:
        """The kind exists, and the paths start at a field of its payload: one that does not would match nothing, and
        a `never` on it would always pass."""
        meant = self.catalog.payloads(name)
        if not meant and "*" in name:
            known = {f"{kind.split('.')[0]}.*" for kind in self.catalog.event_names()}
            hint = self.catalog.missing(name) or did_you_mean(name, known)
            self.note([*path, "event"], f"no event is like `{name}`", hint)
        elif not meant:
            hint = self.catalog.missing(name) or did_you_mean(name, self.catalog.event_names())
            self.note([*path, "event"], f"unknown event `{name}`", hint)
        fields = {field for names in meant.values() for field in names}
        for key in where if meant else ():
            first = next(iter(split(key)), "")
            if first not in fields:
                message = f"`{name}` has no field `{first}`"
                self.note([*path, "where", key], message, did_you_mean(first, fields), key=True)

    def _check_operation(self, fault: Mapping[str, Any], path: Path, place: Surroundings) -> None:
        """A fault on a domain, or on an operation that nothing has, would never strike."""
        operation, named = fault.get("operation"), fault.get("sandbox")
        if named in place.domains:
            message = f"`{named}` is a domain: it gets no requests that a fault could strike"
            self.note([*path, "sandbox"], message, did_you_mean(str(named), place.sandboxes))
            return
        kinds = [kind for name, kind in place.sandboxes.items() if named in (None, name)]
        if operation is None or not all(map(self._is_simulator, kinds)) or not kinds:
            return
        known = {known for kind in kinds for known in self.catalog.operations(kind)}
        if operation not in known:
            where = f"`{named}`" if named is not None else place.name
            self.note([*path, "operation"], f"{where} has no operation `{operation}`", did_you_mean(operation, known))

    def _converses(self, kind: str) -> bool:
        return self._is_simulator(kind) and self.catalog.simulator(kind).converses

    def _check_place(
        self, fits: Callable[[str], bool], named: str | None, kind: str, path: Path, place: Surroundings
    ) -> None:
        """The sandbox or domain named is of the right kind, or only one is. A mistaken kind may be the right one."""
        known = [name for name, other in place.components.items() if fits(other)]
        mistaken = [name for name, other in place.components.items() if not self._is_component(other)]
        if named is None and len(known) != 1 and not mistaken:
            there = f"there are {', '.join(known)}" if known else "the environment has none"
            self.note(path, f"name a `sandbox` of kind {kind}", there)
        elif named is not None and named in place.components and named not in known and named not in mistaken:
            what = "domain" if named in place.domains else "sandbox"
            self.note([*path, "sandbox"], f"`{named}` is not a {what} of kind {kind}", did_you_mean(named, known))


def _maps(data: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every map in some arguments, but for those an author fills as they like."""
    if isinstance(data, Mapping):
        yield path, data
        for key, value in data.items():
            if key not in _CLOSED:
                yield from _maps(value, [*path, key])
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from _maps(value, [*path, number])


def _mentions(data: Any, name: str) -> bool:
    """Whether a template somewhere in it has this name."""
    if isinstance(data, Mapping):
        return any(_mentions(value, name) for value in data.values())
    if isinstance(data, list | tuple):
        return any(_mentions(value, name) for value in data)
    return isinstance(data, str) and re.search(rf"\{{[{{%].*\b{re.escape(name)}\b", data, re.DOTALL) is not None


def _read(model: type[M], data: Any) -> M | None:
    try:
        return model.model_validate(data) if data is not None else None
    except ValidationError:
        return None


def as_list(value: Any) -> list[Any]:
    """It, if it is one; what else stands there has been complained of."""
    return value if isinstance(value, list) else []


def as_map(value: Any) -> dict[str, Any]:
    """Likewise."""
    return value if isinstance(value, dict) else {}
