"""What simulators and domains have in common: state, events, config, datasets, steps and assertions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clerkship.events.event import Payload
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.errors import PlatformError
from clerkship.model.frozen import Frozen
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.state import ActionContext, State
from clerkship.sandbox.steps.contract import Step
from clerkship.suite_files.dataset_type import DatasetType
from clerkship.suite_files.template import Filter

DomainCall = Callable[[Any, ActionContext], object]
"""One call of a domain: a function of its state and the context to change it in."""


class InvalidSpec(PlatformError):
    """Raised for a spec that contradicts itself."""


class NoConfig(Frozen):
    """The config of a simulator or domain without options."""


def merge_files(datasets: Sequence[Dataset]) -> Mapping[str, bytes]:
    """Return the files of all datasets. If two have the same path, the later dataset wins."""
    return {path: data for dataset in datasets for path, data in dataset.files.items()}


def keep_config(config: Any, environment: Environment) -> Frozen:
    """Return the config unchanged."""
    written: Frozen = config
    return written


class PublicDocument(NamedTuple):
    """A text that is public in the world of a task, such as a policy of a payer."""

    path: str
    """Its place among the documents of its component: `policies/CM-1/2026.1`."""
    title: str
    render: Callable[[], str]
    """Returns the text."""


def list_no_documents(state: Any) -> Sequence[PublicDocument]:
    """List no documents: the default."""
    return ()


@dataclass(frozen=True, kw_only=True)
class ComponentSpec:
    """The description of a simulator or domain that a playground needs to run it."""

    kind: str
    summary: str
    state: type[State[Any]]
    events: tuple[type[Payload], ...]
    config: type[Frozen] = NoConfig
    dataset: str | None = None
    """The type of dataset from which it is loaded, if any."""
    more_datasets: tuple[str, ...] = ()
    """Other types of dataset from which it is loaded, too."""
    prepare: Callable[[Sequence[Dataset]], Mapping[str, Any]] = merge_files
    """Builds the base that all playgrounds share from the datasets. Called once."""
    configure: Callable[[Any, Environment], Frozen] = keep_config
    """Completes the config from the environment."""
    assertions: tuple[type[Assertion], ...] = ()
    steps: tuple[type[Step], ...] = ()
    dataset_types: tuple[DatasetType, ...] = ()
    """Types of dataset that it defines. It may be loaded from a type that another component defines."""
    exercise_datasets: tuple[Dataset, ...] = ()
    """Datasets from which the exercise of the conformance suite starts."""
    filters: Mapping[str, Filter] = field(default_factory=dict)
    """Template filters that it defines, by name."""
    names: Mapping[str, Callable[[Any, Any], Collection[str]]] = field(default_factory=dict)
    """Functions by sort that list the names which a config and the base define, such as mailboxes. A `NameOf` in a step
    or assertion refers to them."""
    documents: Callable[[Any], Sequence[PublicDocument]] = list_no_documents
    """Lists the documents of a state that every agent may read."""
    view: str = ""
    """The `module:function` that lists what a reviewer is shown of a state at a moment of a trial: a `ListRows`. No run
    imports it. If it is empty, the changed records and the public attributes are shown."""

    def is_loaded_from(self, type: str) -> bool:
        """Return whether it is loaded from datasets of a type."""
        return type == self.dataset or type in self.more_datasets


def find_misnamed(spec: ComponentSpec) -> list[str]:
    """Return an error for each event and step in a spec whose name does not start with the kind."""
    named = [("event", event.kind) for event in spec.events] + [("step", step.name) for step in spec.steps]
    return [
        f"{sort} `{name}` does not start with `{spec.kind}.`"
        for sort, name in named
        if not name.startswith(f"{spec.kind}.")
    ]


@dataclass(frozen=True, kw_only=True)
class DomainSpec(ComponentSpec):
    """The contract between a domain and the playground in which it runs."""

    exercise: tuple[DomainCall, ...]
    """Calls that lead to every event it declares, for the conformance suite. A call may be refused."""
