"""The contract of scenario steps, and the step that lets time pass."""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol, TypeVar

from clerkship.model.duration import Duration
from clerkship.model.frozen import Frozen
from clerkship.sandbox.faults.contract import AnyFault
from clerkship.sandbox.state import ActionContext, State

S = TypeVar("S", bound=State[Any])


class StepHost(Protocol):
    """The playground as a step may use it."""

    @property
    def now(self) -> datetime:
        """The simulated time."""

    def state(self, kind: type[S], sandbox: str | None, actor: str | None = None) -> tuple[S, ActionContext]:
        """Return the state of a sandbox or domain, and the context in which the scenario changes it.

        Without an actor, that is the person where one converses, and else the scenario.
        """

    def advance(self, by: timedelta) -> None:
        """Let simulated time pass."""

    def inject(self, fault: AnyFault) -> None:
        """Add a fault that affects later requests, events of a sandbox, or model calls."""


class Step(Frozen):
    """A step of a scenario, named `kind.verb`; its fields are its YAML keys.

    It runs before the agent starts or, with `at`, while the agent works.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    simulator: ClassVar[str | None] = None
    """The kind of simulator or domain that the step acts on, if any. If there are several, `sandbox` names one."""
    text_files: ClassVar[Mapping[str, str]] = {}
    """Fields that name a text file next to the task file, each with the field that gets its text. Templates in the text
    are expanded."""
    dataset_files: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Fields that name a file of a dataset, each with the field that names the dataset, and the field that gets the
    content of the file in base64."""

    @abstractmethod
    def run(self, host: StepHost) -> None:
        """Run the step."""


class ClockAdvance(Step):
    """Advances the simulated clock. Scheduled events that become due happen on the way."""

    name: ClassVar[str] = "clock.advance"
    by: Duration

    def run(self, host: StepHost) -> None:
        host.advance(self.by)
