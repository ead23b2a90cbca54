"""Calls to phone trees: a tree, a clock, and what the line did."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from clerkship.formats.phone_tree.machine import IvrMachine
from clerkship.formats.phone_tree.session import (
    Action,
    DigitsPressed,
    EnterNode,
    FarEnd,
    HookReturned,
    RejectInput,
    Speak,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    TimerFired,
)
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.kit.rng import Rng

MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
"""A Monday."""


GOODBYE_NODE = "goodbye"


def build_tree(nodes: Mapping[str, Mapping[str, Any]], **fields: Any) -> IvrTree:
    """Return a tree that starts at its first node. A node `goodbye` is added if another one leads to it."""
    has_goodbye = f'"{GOODBYE_NODE}"' in json.dumps(nodes)
    added = {GOODBYE_NODE: {"type": "end", "prompt": "Goodbye."}} if has_goodbye else {}
    return IvrTree.model_validate(
        {"name": "Test line", "start": next(iter(nodes)), "nodes": {**nodes, **added}, **fields}
    )


class TreeCall:
    """One call to a far end, with its own clock."""

    def __init__(
        self,
        far_end: FarEnd | IvrTree,
        *,
        now: datetime = MORNING,
        seed: str = "1",
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.far_end = IvrMachine(far_end, values or {}) if isinstance(far_end, IvrTree) else far_end
        self.start_time = self.now = now
        self.rng = Rng(seed)
        self.actions: list[Action] = []
        self.result = self._take(self.far_end.start(self._context()))

    @property
    def session(self) -> Any:
        """What the far end remembers."""
        return self.result.session

    @property
    def path(self) -> list[str]:
        """The nodes that were entered."""
        return [action.node for action in self.actions if isinstance(action, EnterNode)]

    @property
    def spoken(self) -> list[str]:
        """What the line said, without music."""
        return [action.text for action in self.actions if isinstance(action, Speak) and not action.is_music]

    @property
    def rejections(self) -> list[tuple[str, int]]:
        """Why entries were rejected, each with its number."""
        return [(action.reason, action.attempt) for action in self.actions if isinstance(action, RejectInput)]

    @property
    def seconds(self) -> float:
        """How long the call has lasted."""
        return (self.now - self.start_time).total_seconds()

    def press(self, digits: str) -> StepResult:
        """Press keys."""
        return self.step(DigitsPressed(digits))

    def say(self, text: str) -> StepResult:
        """Say something, which takes no time."""
        self.step(SpeechStarted())
        return self.step(SpeechEnded(text))

    def return_hook(self, outcome: str, **values: str) -> StepResult:
        """Return the result of a hook."""
        return self.step(HookReturned(outcome, values))

    def pass_time(self, seconds: float) -> None:
        """Let time pass in which no timer fires."""
        self.now += timedelta(seconds=seconds)

    def fire(self) -> StepResult:
        """Let the time pass until the timer fires."""
        assert self.result.timer_seconds is not None, "there is no timer"
        self.pass_time(self.result.timer_seconds)
        return self.step(TimerFired())

    def listen(self) -> None:
        """Let the line speak until it does something else."""
        while self.session.phase == "speaking":
            self.fire()

    def step(self, stimulus: Stimulus) -> StepResult:
        """Let something happen to the far end."""
        return self._take(self.far_end.step(self.session, stimulus, self._context()))

    def _take(self, result: StepResult) -> StepResult:
        self.result = result
        self.actions += result.actions
        return result

    def _context(self) -> StepContext:
        return StepContext(self.now, self.rng)
