"""Whether the names in a file mean something, and their arguments fit: steps, assertions, sandboxes, reactions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, JsonValue, ValidationError

from clerkship.kit.registry import UnknownName
from clerkship.library.catalog import Catalog
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.names import did_you_mean
from clerkship.model.task import Task


class Note(Protocol):
    """Where a problem is taken down."""

    def __call__(self, path: list[int | str], message: str, hint: str = "", *, key: bool = False) -> None:
        """One problem at a path inside the piece."""
        ...


class NoteAll(Protocol):
    """Where a model's complaints are taken down."""

    def __call__(self, error: ValidationError, model: type[BaseModel], path: list[int | str]) -> None:
        """All of an error's problems, below a path inside the piece."""
        ...


@dataclass(frozen=True)
class Checker:
    """Checks one piece against the catalog."""

    catalog: Catalog
    note: Note
    note_all: NoteAll

    def check_environment(self, environment: Environment, datasets: Mapping[str, Dataset]) -> None:
        """Kinds, configs, datasets and reactions."""
        for number, name in enumerate(environment.datasets):
            if name not in datasets:
                self.note(["datasets", number], f"unknown dataset `{name}`", did_you_mean(name, datasets))
        for name, simulator in environment.simulators.items():
            path: list[int | str] = ["simulators", name]
            if name == "clock":
                self.note(path, "`clock` is the name of the playground's own clock", "call the sandbox something else")
            try:
                entry = self.catalog.simulator(simulator.kind)
            except UnknownName as unknown:
                self.note([*path, "kind"], f"unknown simulator `{simulator.kind}`", unknown.hint)
                continue
            self._check_args(entry.config, simulator.config, [*path, "config"])
            for number, wanted in enumerate(simulator.datasets or ()):
                if wanted not in environment.datasets:
                    hint = did_you_mean(wanted, environment.datasets)
                    self.note([*path, "datasets", number], f"`{wanted}` is not a dataset of this environment", hint)
        for number, _ in enumerate(environment.reactions):
            self._check_reaction(environment, number)

    def _check_reaction(self, environment: Environment, number: int) -> None:
        reaction = environment.reactions[number]
        path: list[int | str] = ["reactions", number]
        for name in (reaction.source, reaction.target):
            if name not in environment.simulators:
                self.note(path, f"unknown sandbox `{name}`", did_you_mean(name, environment.simulators))
                return
        source, target = (environment.simulators[name].kind for name in (reaction.source, reaction.target))
        kinds = {kind.partition(".")[2] for kind in self.catalog.event_kinds(source)}
        if "*" not in reaction.event and reaction.event not in kinds:
            self.note(path, f"{source} has no event `{reaction.event}`", did_you_mean(reaction.event, kinds))
        elif f"{source}.{reaction.event}" not in self.catalog.reactions(target):
            taken = self.catalog.reactions(target)
            self.note(
                path,
                f"{target} does not take in {source}.{reaction.event}",
                f"it takes in {', '.join(taken) or 'nothing'}",
            )

    def check_task(self, task: Task, environment: Environment) -> None:
        """Criteria, steps and the person."""
        entities = {entity.id for entity in task.entities}
        for number, criterion in enumerate(task.criteria):
            path: list[int | str] = ["criteria", number]
            self._check_call(
                "assertion", criterion.assertion.name, criterion.assertion.args, [*path, "assertion"], environment
            )
            wanted = criterion.input_entity_id
            if wanted is not None and wanted not in entities:
                self.note([*path, "input_entity_id"], f"no entity `{wanted}`", did_you_mean(wanted, entities))
        if task.scenario is None:
            return
        for number, step in enumerate(task.scenario.steps):
            self._check_call("step", step.name, step.args, ["scenario", "steps", number], environment)
        person = task.scenario.person
        if person is not None:
            self._check_person_place(person.sandbox, environment)
            self._check_names(person.model_dump(), ["scenario", "person"], environment)

    def _check_call(
        self, sort: str, name: str, args: JsonValue, path: list[int | str], environment: Environment
    ) -> None:
        try:
            model = self.catalog.assertion(name) if sort == "assertion" else self.catalog.step(name)
        except UnknownName as unknown:
            self.note([*path, name], f"unknown {sort} `{name}`", unknown.hint, key=True)
            return
        parsed = self._check_args(model, args, [*path, name])
        if parsed is not None:
            self._check_names(parsed.model_dump(), [*path, name], environment)
            if sort == "step":
                self._check_step_place(name, getattr(parsed, "sandbox", None), [*path, name], environment)

    def _check_args(self, model: type[BaseModel], args: Any, path: list[int | str]) -> BaseModel | None:
        try:
            return model.model_validate(args if args is not None else {})
        except ValidationError as error:
            self.note_all(error, model, path)
            return None

    def _check_names(self, data: Any, path: list[int | str], environment: Environment) -> None:
        """Wherever arguments name a sandbox or an event kind, it must exist."""
        if isinstance(data, Mapping):
            sandbox, event = data.get("sandbox"), data.get("event")
            if isinstance(sandbox, str) and sandbox not in environment.simulators:
                hint = did_you_mean(sandbox, environment.simulators)
                self.note([*path, "sandbox"], f"no sandbox `{sandbox}` in {environment.name}", hint)
            if isinstance(event, str) and "*" not in event and event not in self.catalog.all_event_kinds():
                hint = did_you_mean(event, self.catalog.all_event_kinds())
                self.note([*path, "event"], f"unknown event `{event}`", hint)
            for key, value in data.items():
                if key not in ("where", "fields", "expected", "text"):
                    self._check_names(value, [*path, key], environment)
        elif isinstance(data, list | tuple):
            for number, value in enumerate(data):
                self._check_names(value, [*path, number], environment)

    def _check_step_place(self, name: str, named: str | None, path: list[int | str], environment: Environment) -> None:
        kind = self.catalog.step_simulator(name)
        if kind is not None and (named is None or named in environment.simulators):
            places = [key for key, simulator in environment.simulators.items() if simulator.kind == kind]
            self._check_place(places, named, kind, path)

    def _check_person_place(self, named: str | None, environment: Environment) -> None:
        if named is None or named in environment.simulators:
            places = [name for name, s in environment.simulators.items() if self._converses(s.kind)]
            self._check_place(places, named, "chat", ["scenario", "person"])

    def _converses(self, kind: str) -> bool:
        try:
            return self.catalog.simulator(kind).converses
        except UnknownName:
            return False

    def _check_place(self, places: Iterable[str], named: str | None, kind: str, path: list[int | str]) -> None:
        known = list(places)
        if named is None and len(known) != 1:
            there = f"there are {', '.join(known)}" if known else "the environment has none"
            self.note(path, f"name a `sandbox` of kind {kind}", there)
        elif named is not None and named not in known:
            self.note([*path, "sandbox"], f"`{named}` is not a sandbox of kind {kind}", did_you_mean(named, known))
