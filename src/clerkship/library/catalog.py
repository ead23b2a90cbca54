"""What names may be used in files. The engine hands in what is registered."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from clerkship.library.dataset_type import DatasetType
from clerkship.library.template import Filter
from clerkship.model.call import AssertionCall
from clerkship.model.dataset import Dataset
from clerkship.model.frozen import Frozen


class ComponentEntry(Protocol):
    """A kind of simulator or domain, as far as a file can name it."""

    @property
    def kind(self) -> str:
        """Its name."""

    @property
    def config(self) -> type[Frozen]:
        """What it can be told."""

    @property
    def dataset(self) -> str | None:
        """The type of dataset it is loaded from."""


class SimulatorEntry(ComponentEntry, Protocol):
    """A kind of simulator, as far as a file can name it."""

    @property
    def domains(self) -> Sequence[ComponentEntry]:
        """The kinds of domain that its operations call."""

    @property
    def prepare(self) -> Callable[[Sequence[Dataset]], Mapping[str, Any]]:
        """What its sandboxes start with, by key, from its datasets."""

    @property
    def converses(self) -> bool:
        """Whether a person can sit on it."""


class Catalog(Protocol):
    """Every name a file may use. Lookups raise UnknownName."""

    def simulator(self, kind: str) -> SimulatorEntry:
        """A kind of simulator."""

    def domain(self, kind: str) -> ComponentEntry:
        """A kind of domain."""

    def assertion(self, name: str) -> type[Frozen]:
        """An assertion; its fields are its YAML."""

    def step(self, name: str) -> type[Frozen]:
        """A scenario step; its fields are its YAML."""

    def acts_on(self, sort: str, name: str) -> str | None:
        """The kind of sandbox or domain that a step or an assertion needs; it must be named, or be the only one."""

    def is_scoped(self, name: str) -> bool:
        """Whether a criterion's `input_entity_id` narrows what an assertion looks at."""

    def entity_fields(self, name: str) -> Collection[str]:
        """The fields of an assertion that name entities of the task."""

    def passes_on_inaction(self, call: AssertionCall) -> bool:
        """Whether an assertion can pass when the agent does nothing; False where that is not known."""

    def reads(self, name: str) -> frozenset[str]:
        """The agent's own events that an assertion of this name looks for; none if there is no such assertion."""

    def event_kinds(self, kind: str) -> Collection[str]:
        """The events that a kind of simulator or domain may emit."""

    def operations(self, kind: str) -> Collection[str]:
        """What a kind of simulator can be asked to do, and a fault can strike."""

    def reactions(self, source: str, target: str) -> Collection[str]:
        """Return the events of one kind of simulator that another kind reacts to."""

    def reacts_to(self, target: str) -> Collection[str]:
        """Return all events, of whatever kind of simulator, that one kind reacts to."""

    def payloads(self, name: str) -> Mapping[str, Collection[str]]:
        """The kinds of event that a name means, or a pattern with `*`, with the fields of their payloads."""

    def event_names(self) -> Collection[str]:
        """Every kind of event there is; all simulators are imported for that."""

    def dataset_type(self, name: str) -> DatasetType:
        """A type of dataset."""

    def built_in_datasets(self) -> Mapping[str, str]:
        """The datasets that need no file, each with its type."""

    def filter(self, name: str) -> Filter:
        """A filter of templates."""

    def variables(self) -> Mapping[str, str]:
        """What `${NAME}` in a file may stand for."""

    def missing(self, name: str) -> str:
        """Why something of this name is not here, where that is known."""
