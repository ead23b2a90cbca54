"""Who is asked in a run what no rule decides, and by whom in which trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from clerkship.llm.asker import Asker, Tally
from clerkship.llm.contract import Model
from clerkship.llm.prompts import Prompts
from clerkship.model.run import Asking
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task
from clerkship.model.usage import Role


@dataclass(frozen=True)
class Models:
    """Everybody who is asked in a run, ready to be."""

    judge: Model | None = None
    person: Model | None = None
    skips_judged: bool = False
    """Whether what needs a judge is passed over."""
    asking: Asking = field(default_factory=Asking)
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """What goes into each question to the judge, as it is written: for the record."""

    @cached_property
    def prompts(self) -> Prompts:
        """What they are told."""
        return Prompts(self.asking.prompts)

    def asker(self, role: Role, snapshot: Snapshot, trial: int, tally: Tally) -> Asker | None:
        """Whoever asks in this role, in this trial of this task; nobody where there is no such model."""
        model = self.person if role == "person" else self.judge
        return Asker(model, role, trial, tally) if model is not None else None

    def rates(self, task: Task) -> bool:
        """Whether conversations of this task are rated besides: where that is asked for, and somebody can be."""
        if self.judge is None or self.skips_judged:
            return False
        return self.asking.metrics or bool(task.metrics) or "metrics" in self.asking.prompts

    def close(self) -> None:
        """Let go of them; they are not asked again, and whoever waits for an answer goes on without."""
        for model in {id(model): model for model in (self.judge, self.person) if model is not None}.values():
            model.close()


ALONE = Models()
