"""Personas: those of the folder and of `personas` folders above it, and the tasks whose person names one."""

from dataclasses import dataclass, field
from typing import Any

from clerkship.library.bind import Filler
from clerkship.library.definition import Definition
from clerkship.library.definitions import FolderDefinitions
from clerkship.library.source import Folder, personas_above
from clerkship.model.names import did_you_mean
from clerkship.model.persona import Persona
from clerkship.model.scenario import Person
from clerkship.model.task import Task

_IN_TASK = ("scenario", "person", "persona")
Place = tuple[str, ...]


@dataclass
class Personas:
    """Reads personas and puts them into tasks."""

    folder: Folder
    definitions: FolderDefinitions
    found: dict[str, Persona] = field(default_factory=dict)
    _looked_above: bool = False

    def load(self, definition: Definition) -> None:
        """Read a persona that a file defines."""
        persona = definition.read(Persona, definition.data)
        if persona is not None:
            self.found.setdefault(persona.name, persona)

    def cast(self, definition: Definition, task: Task, *places: Place) -> Task:
        """Return the task with the persona that its person names; `places` are where a file may name it."""
        person = _person(task)
        if person is None or not isinstance(person.persona, str):
            return task
        name = person.persona
        if self.definitions.is_unknown("persona", name) and not self._is_above(name):
            path = next(place for place in places if _at(definition.data, place) == name)
            known = self.definitions.names("persona")
            hint = did_you_mean(name, known) or "a persona is a YAML file with the key `persona`"
            definition.problem(path, f"unknown persona `{name}`", hint)
        return _with_persona(task, self.found.get(name))

    def cast_filled(self, definition: Definition, task: Task, filler: Filler) -> Task:
        """Likewise, and fill the templates of a persona that is in a file of its own."""
        task = self.cast(definition, task, _IN_TASK)
        person = _person(task)
        if person is None or not isinstance(person.persona, Persona):
            return task
        if not isinstance(_at(definition.data, _IN_TASK), str):
            return task
        written = person.persona.model_dump(mode="json", exclude_unset=True)
        path = [*definition.path, *_IN_TASK]
        filled = {key: filler.fill(value, path) for key, value in written.items()}
        return _with_persona(task, Persona.model_validate(filled))

    def _is_above(self, name: str) -> bool:
        """Whether a `personas` folder that several folders of tasks share has one of this name."""
        if not self._looked_above:
            self._looked_above = True
            for place in personas_above(self.folder.root):
                self._load_folder(self.folder.outside(place))
        return name in self.found

    def _load_folder(self, folder: Folder) -> None:
        trees = [tree for path in folder.files() if (tree := folder.read(path)) is not None]
        definitions = [p for tree in trees for p in self.definitions.split_file(tree) if p.sort == "persona"]
        for definition in definitions:
            self.definitions.define(definition)
        for definition in definitions:
            self.load(definition)


def _person(task: Task) -> Person | None:
    return task.scenario.person if task.scenario is not None else None


def _with_persona(task: Task, persona: Persona | None) -> Task:
    assert task.scenario is not None  # only a person in a scenario names one
    assert task.scenario.person is not None
    person = task.scenario.person.model_copy(update={"persona": persona})
    return task.model_copy(update={"scenario": task.scenario.model_copy(update={"person": person})})


def _at(data: Any, path: Place) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data
