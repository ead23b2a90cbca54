"""Grade a trial, in the same way right after it has ended and later from its stored log."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clerkship.engine.build import BuiltTask
from clerkship.engine.models import ModelSelection
from clerkship.engine.quality import rate_conversation
from clerkship.engine.score import Score, check_criteria, compute_score, implied_checks, is_crash, status_of
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.llm.trial_model import TrialModel, UsageCounter
from clerkship.model.quality import Quality
from clerkship.model.run import CriterionRun, Ending
from clerkship.model.usage import Role


class Grade(NamedTuple):
    """The checked criteria of a trial, its score and its metrics. Empty for a trial without a verdict."""

    criteria: tuple[CriterionRun, ...] = ()
    score: Score = Score(None, None, {})
    quality: Quality | None = None


class Grader:
    """Grades one trial with the models of its run."""

    def __init__(self, built: BuiltTask, models: ModelSelection, trial: int) -> None:
        self._built, self._models, self._trial = built, models, trial
        self.usage = UsageCounter()

    def model_for(self, role: Role) -> TrialModel | None:
        """Return the model for a role; None if the run has no such model."""
        return self._models.model_for(role, self._built.snapshot, self._trial, self.usage)

    def evidence(
        self,
        events: Sequence[Event],
        states: Mapping[str, object],
        ending: Ending,
        answers: Sequence[Any],
        call_times: Mapping[int, float],
    ) -> Evidence:
        """Build the evidence for the criteria.

        `answers` is empty if the agent gave no answer. It is a sequence because None is a valid answer. `call_times`
        are those of the sidecar.
        """
        built, models = self._built, self._models
        return Evidence(
            task=built.task,
            events=events,
            states=states,
            ending=ending,
            answer=answers[-1] if answers else None,
            answered=bool(answers),
            entities=built.snapshot.entities,
            model=self.model_for("judge"),
            prompts=models.prompts,
            parameters=models.parameters,
            votes=models.asking.votes,
            observers=built.observers,
            call_times=call_times,
        )

    def grade(self, evidence: Evidence) -> Grade:
        """Check every criterion, whatever the ending, and rate the conversation by metrics if the run asks for it."""
        built, models, status = self._built, self._models, status_of(evidence.ending)
        checks = (*built.checks, *implied_checks(evidence))
        criteria = check_criteria(checks, evidence, skip_judged=models.skips_judged, variables=built.variables)
        is_rated = models.rates_task(built.task) and status == "completed"
        quality = rate_conversation(evidence, self.model_for("metrics"), built.variables) if is_rated else None
        return Grade(criteria, compute_score(criteria, status, crashed=is_crash(evidence.ending)), quality)
