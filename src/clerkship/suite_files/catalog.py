"""The names that files may use. The engine provides the registered ones."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from clerkship.model.call import AssertionCall
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.frozen import Frozen
from clerkship.model.task import Task
from clerkship.suite_files.dataset_type import DatasetType
from clerkship.suite_files.template import Filter


class ComponentEntry(Protocol):
    """A kind of simulator or domain, as far as files refer to it."""

    @property
    def kind(self) -> str:
        """The name of the kind."""

    @property
    def config(self) -> type[Frozen]:
        """The model of its config."""

    @property
    def configure(self) -> Callable[[Any, Environment], Frozen]:
        """A function that completes a config from its environment; raises InputError if the config does not fit it."""

    @property
    def dataset(self) -> str | None:
        """The type of dataset that it is loaded from."""

    def is_loaded_from(self, type: str) -> bool:
        """Return whether it is loaded from datasets of a type."""

    @property
    def prepare(self) -> Callable[[Sequence[Dataset]], Mapping[str, Any]]:
        """A function that returns the initial records of its sandboxes, by key, from its datasets."""

    @property
    def names(self) -> Mapping[str, Callable[[Any, Any], Collection[str]]]:
        """Functions by sort that list the names which a config and the initial records define."""


class SimulatorEntry(ComponentEntry, Protocol):
    """A kind of simulator, as far as files refer to it."""

    @property
    def domains(self) -> Sequence[ComponentEntry]:
        """The kinds of domain that its operations call."""

    @property
    def handle(self) -> type:
        """The class of its handles, whose methods solutions call."""

    @property
    def converses(self) -> bool:
        """Whether a person can talk to the agent through it."""

    @property
    def channels(self) -> Sequence[str]:
        """The channels on which people can be reached at an address through it."""


class Catalog(Protocol):
    """All names that a file may use. Lookups raise UnknownName."""

    def simulator(self, kind: str) -> SimulatorEntry:
        """Return a kind of simulator."""

    def domain(self, kind: str) -> ComponentEntry:
        """Return a kind of domain."""

    def assertion(self, name: str) -> type[Frozen]:
        """Return the model of an assertion; its fields are the YAML keys."""

    def monitor(self, name: str) -> type[Frozen]:
        """Return the model of a monitor; its fields are the YAML keys."""

    def step(self, name: str) -> type[Frozen]:
        """Return the model of a scenario step; its fields are the YAML keys."""

    def acts_on(self, sort: str, name: str) -> str | None:
        """Return the kind of sandbox or domain that a step or an assertion needs; None if it needs none."""

    def explain_unscoped(self, call: AssertionCall, record_type: str | None) -> str:
        """Return why a record of a type cannot limit what an assertion checks; empty if it can."""

    def entity_fields(self, name: str) -> Collection[str]:
        """Return the fields of an assertion that hold ids of the task's entities."""

    def passes_on_inaction(self, call: AssertionCall) -> bool:
        """Return whether an assertion can pass when the agent does nothing; False if that is unknown."""

    def passes_on_any_word(self, call: AssertionCall, task: Task) -> bool:
        """Return whether an assertion of a task can pass when the agent only says "ok"; False if that is unknown."""

    def is_single_turn(self, name: str) -> bool:
        """Return whether an assertion assesses a single turn of a conversation; False if the name is unknown."""

    def reads(self, name: str) -> frozenset[str]:
        """Return the agent events that an assertion looks for; empty if there is no such assertion."""

    def event_kinds(self, kind: str) -> Collection[str]:
        """Return the events that a kind of simulator or domain can emit."""

    def operations(self, kind: str) -> Collection[str]:
        """Return the operations of a kind of simulator, on which faults can be triggered."""

    def reactions(self, source: str, target: str) -> Collection[str]:
        """Return the events of one kind of simulator that another kind reacts to."""

    def reacts_to(self, target: str) -> Collection[str]:
        """Return all events, of any kind of simulator, that one kind reacts to."""

    def payloads(self, name: str) -> Mapping[str, type[BaseModel]]:
        """Return the event kinds that match a name or a pattern with `*`, each with the model of its payload."""

    def event_names(self) -> Collection[str]:
        """Return all kinds of event. This imports all simulators."""

    def dataset_type(self, name: str) -> DatasetType:
        """Return a type of dataset."""

    def built_in_datasets(self) -> Mapping[str, str]:
        """Return the types of the datasets that need no file, by name."""

    def filter(self, name: str) -> Filter:
        """Return a template filter."""

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that `${NAME}` in a file can stand for."""

    def missing(self, name: str) -> str:
        """Return why a name is not available, such as a broken plug-in; empty if there is no known reason."""
