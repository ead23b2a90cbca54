"""Warn of criteria that prove little: an agent that only says "ok" passes, or a single turn of several is assessed."""

from collections.abc import Sequence
from dataclasses import dataclass

from clerkship.model.run import PASS_THRESHOLD
from clerkship.model.task import Criterion, Task
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.yaml import KeyPath

MAX_NAMED_CRITERIA = 5


@dataclass(frozen=True)
class CriteriaCheck:
    """Checks the criteria of one task against each other and against its conversation."""

    catalog: Catalog
    definition: Definition
    path: KeyPath
    """The place of the criteria as a whole."""
    inaction_key: str = "allow_inaction: true"
    """What an author writes if an agent that does nothing may pass; empty if the format has no such key."""

    def warn_of_idle_pass(self, task: Task) -> None:
        """Warn if an agent passes that says a word and does nothing else. The gates of the criteria must be set."""
        if task.allow_inaction:
            return
        counted = [criterion for criterion in task.criteria if criterion.weight or criterion.gate]
        needed = (1 - PASS_THRESHOLD) * sum(criterion.weight for criterion in counted)
        idle: list[Criterion] = []
        missed = 0.0
        for criterion in counted:
            if self.catalog.passes_on_any_word(criterion.assertion, task):
                idle.append(criterion)
                continue
            missed += criterion.weight
            if criterion.gate or missed > needed + 1e-12:
                return
        if any(criterion.weight for criterion in idle):
            self._warn(idle, has_others=missed > 0)

    def _warn(self, idle: Sequence[Criterion], *, has_others: bool) -> None:
        labels = ", ".join(repr(criterion.label) for criterion in idle[:MAX_NAMED_CRITERIA])
        more = len(idle) - MAX_NAMED_CRITERIA
        labels += f" and {more} more" if more > 0 else ""
        message = f'an agent that only says "ok" passes: no effect, answer or message is needed for {labels}'
        message += ", and the other criteria weigh too little" if has_others else ""
        hint = "require what the agent must do or say"
        hint += f", or write `{self.inaction_key}` if doing nothing is right" if self.inaction_key else ""
        self.definition.warning(self.path, message, hint, key=True)

    def warn_of_single_turns(self, task: Task, paths: Sequence[KeyPath]) -> None:
        """Warn of assertions that assess a single turn if the conversation can have several.

        `paths` are the places of the criteria, each of its assertion.
        """
        if not task.people or (task.scenario is not None and task.scenario.has_one_turn):
            return
        for criterion, path in zip(task.criteria, paths, strict=False):
            for within, leaf in criterion.assertion.leaves():
                if self.catalog.is_single_turn(leaf.name):
                    message = f"`{leaf.name}` assesses a single turn, and this conversation can have several"
                    hint = "use `judged`, or `criteria` of a scenario file: they are judged on the whole conversation"
                    self.definition.warning([*path, *within], message, hint, key=True)
