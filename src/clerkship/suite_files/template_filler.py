"""Fill the templates of a task and of its personas with the values of its entities."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson

from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup
from clerkship.model.persona import Persona
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.task import Task
from clerkship.model.variables import escape, escape_text, join_escaped
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.file_keys import begins_with_own_key, has_own_keys, top_keys
from clerkship.suite_files.source import SourceFolder, find_personas_folders
from clerkship.suite_files.template import (
    BadTemplate,
    FindFilter,
    SingleValue,
    find_built_in_filter,
    find_template_mistakes,
    render_parts,
)

MAX_OUTPUT_LENGTH = 10_000_000
MAX_MISTAKES = 20
"""The maximum number of mistakes that are reported for one text."""
DataPath = list[int | str]
_KeyPath = tuple[str | int, ...]


@dataclass
class TemplateFiller:
    """Fills the templates of one task. Each invalid one is reported at its place, or skipped."""

    values: Mapping[str, Any]
    unbound: Collection[str]
    """Names without a value, which is already reported. Templates that use them are skipped."""
    report: Callable[[DataPath, str, str], None]
    silence: Callable[[DataPath], None]
    """Called after the mistakes of a text are reported, because no other check of it has a meaning."""
    remaining: int = MAX_OUTPUT_LENGTH
    failed: bool = False
    """Whether a template could not be filled."""
    escapes: bool = True
    """Whether `${NAME}` in values is escaped. Queries are not expanded, so nothing is escaped in them."""
    find: FindFilter = find_built_in_filter
    """Return the filter with a name."""

    def fill(self, data: Any, path: DataPath) -> Any:
        """Return the data with every template filled."""
        if isinstance(data, str):
            return self._fill_text(data, path) if "{{" in data or "{%" in data else data
        if isinstance(data, dict):
            return {key: self.fill(value, [*path, key]) for key, value in data.items()}
        if isinstance(data, list):
            return [self.fill(value, [*path, number]) for number, value in enumerate(data)]
        return data

    def fill_file(self, text: str, path: DataPath, report: Callable[[int, str, str], None]) -> str:
        """Fill the templates of a file that a path refers to. It is not YAML, so it has no variables."""
        if "{{" not in text and "{%" not in text:
            return escape_text(text)
        parts = self._render(text, path, lambda bad, hint: report(bad.offset, bad.message, hint), "".join, alone=False)
        return escape_text(str(parts))

    def _fill_text(self, text: str, path: DataPath) -> Any:
        join = join_escaped if self.escapes else "".join
        return self._render(text, path, lambda bad, hint: self.report(path, bad.message, hint), join)

    def _render(
        self,
        text: str,
        path: DataPath,
        report: Callable[[BadTemplate, str], None],
        join: Callable[[list[str]], str],
        *,
        alone: bool = True,
    ) -> Any:
        if self.remaining < 0:
            self.failed = True
            self.silence(path)
            return text
        try:
            rendered = render_parts(text, self.values, self.find, alone=alone)
        except BadTemplate as first:
            self.failed = True
            for bad in self._find_mistakes(text, first):
                hint = did_you_mean(bad.unknown, [*self.values, *self.unbound]) if bad.unknown else ""
                report(bad, hint or bad.hint)
            self.silence(path)
            return text
        value = self._escape(rendered.value) if isinstance(rendered, SingleValue) else join(rendered)
        self.remaining -= len(orjson.dumps(value))
        if self.remaining < 0:
            self.report(path, f"the task's templates write more than {MAX_OUTPUT_LENGTH:,} characters in total", "")
            self.silence(path)
        return value

    def _find_mistakes(self, text: str, first: BadTemplate) -> list[BadTemplate]:
        """Return all mistakes in a text, except names without a value. `first` may be about the text as a whole."""
        mistakes = list(islice(find_template_mistakes(text, self.values, self.find), MAX_MISTAKES)) or [first]
        return [bad for bad in mistakes if not bad.unknown or bad.unknown not in self.unbound]

    def _escape(self, value: Any) -> Any:
        return escape(value) if self.escapes else value


@dataclass
class PersonaLoader:
    """Loads personas and puts them into tasks."""

    folder: SourceFolder
    definitions: FolderDefinitions
    personas: dict[str, Persona] = field(default_factory=dict)
    _has_loaded_above: bool = False

    def load(self, definition: Definition) -> None:
        """Load a persona that a file defines."""
        persona = definition.read(Persona, definition.data)
        if persona is not None:
            self.personas.setdefault(persona.name, persona)

    def resolve(self, definition: Definition, task: Task, *places: _KeyPath) -> Task:
        """Return the task with the persona that its only person names, at one of the paths `places`."""
        return _with_people(task, [self._resolve(definition, person, *places) for person in task.people])

    def resolve_and_fill(self, definition: Definition, task: Task, filler: TemplateFiller) -> Task:
        """Return the task with the personas that its people name, and with the templates of those personas filled."""
        is_list = task.scenario is not None and bool(task.scenario.people)
        people = []
        for number, person in enumerate(task.people):
            place: _KeyPath = (
                ("scenario", "people", number, "persona") if is_list else ("scenario", "person", "persona")
            )
            resolved = self._resolve(definition, person, place)
            if isinstance(resolved.persona, Persona) and isinstance(_get_value(definition.data, place), str):
                written = resolved.persona.model_dump(mode="json", exclude_unset=True)
                filled = {key: filler.fill(value, [*definition.path, *place]) for key, value in written.items()}
                resolved = resolved.model_copy(update={"persona": Persona.model_validate(filled)})
            people.append(resolved)
        return _with_people(task, people)

    def _resolve(self, definition: Definition, person: ScenarioPerson, *places: _KeyPath) -> ScenarioPerson:
        """Return a person with the persona that they name; report a persona that is not defined."""
        name = person.persona
        if not isinstance(name, str):
            return person
        if self.definitions.is_unknown("persona", name) and not self._is_shared(name):
            path = next(place for place in places if _get_value(definition.data, place) == name)
            known = self.definitions.names("persona")
            hint = did_you_mean(name, known) or "define it in a YAML file with the key `persona`"
            definition.problem(path, f"unknown persona `{name}`", hint)
        return person.model_copy(update={"persona": self.personas.get(name)})

    def _is_shared(self, name: str) -> bool:
        """Return whether a shared `personas` folder above this one has a persona of this name."""
        if not self._has_loaded_above:
            self._has_loaded_above = True
            for place in find_personas_folders(self.folder.root):
                self._load_folder(self.folder.open_other(place))
        return name in self.personas

    def _load_folder(self, folder: SourceFolder) -> None:
        files = [path for path in folder.files() if has_own_keys(path, top_keys(path)) or begins_with_own_key(path)]
        trees = [tree for path in files if (tree := folder.read(path)) is not None]
        definitions = [p for tree in trees for p in self.definitions.split_file(tree) if p.kind == "persona"]
        for definition in definitions:
            self.definitions.define(definition)
        for definition in definitions:
            self.load(definition)


def _with_people(task: Task, people: list[ScenarioPerson]) -> Task:
    """Return the task with these people; the same task if none of them changed."""
    if task.scenario is None or all(new is old for new, old in zip(people, task.people, strict=True)):
        return task
    changed = {"people": tuple(people)} if task.scenario.people else {"person": people[0]}
    return task.model_copy(update={"scenario": task.scenario.model_copy(update=changed)})


def _get_value(data: Any, path: _KeyPath) -> Any:
    return lookup(data, ".".join(map(str, path)))
