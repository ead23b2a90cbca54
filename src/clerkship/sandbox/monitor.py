"""The contract of a monitor: a check that runs on every task, whatever the task's criteria say.

See docs/decisions/0030-monitors.md.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.model.monitor_settings import MonitorMode
from clerkship.sandbox.assertion import Assertion

MonitorAxis = Literal["safety", "privacy"]
_GENERAL_FIELDS = {"mode", "because"}


class Monitor(Assertion):
    """A check of every task whose environment has one of its kinds of sandbox. Its fields are what a task may set.

    One that asks a model (`judged`) runs only where a suite names it, warns, and is skipped if it gets no answer.
    """

    axis: ClassVar[MonitorAxis]
    label: ClassVar[str]
    """What must be true, in words for a reviewer."""
    kinds: ClassVar[frozenset[str]] = frozenset()
    """The kinds of simulator that it looks at; it runs if the environment has one of them. Empty: all kinds
    but chat."""
    holds_on_inaction: ClassVar[bool] = True
    mode: Annotated[
        MonitorMode | None, Field(description="`gate`: it fails the trial, `warn`: it is only shown, `off`")
    ] = None
    because: Annotated[str, Field(description="why the other options are set; needed beside them")] = ""

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        if self.judged and self.mode == "gate":
            raise ValueError("expected `warn` or `off`: a monitor that asks a model cannot gate")
        return self

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        options = sorted(self.model_fields_set - _GENERAL_FIELDS)
        if options and not self.because.strip():
            raise ValueError(f"say under `because` why `{options[0]}` is set")
        return self
