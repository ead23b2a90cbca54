"""Load the personas of a folder and of `personas` folders above it, and put them into the people of tasks."""

from dataclasses import dataclass, field
from typing import Any

from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup
from clerkship.model.persona import Persona
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.task import Task
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.file_keys import begins_with_own_key, has_own_keys, top_keys
from clerkship.suite_files.source import SourceFolder, find_personas_folders
from clerkship.suite_files.template_filler import TemplateFiller

_KeyPath = tuple[str | int, ...]


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
