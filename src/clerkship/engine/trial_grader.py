"""Finish a trial that was run: check how people were played, grade it, and build its record."""

from dataclasses import replace
from typing import Any

import orjson

from clerkship.actors.contract import ContractBreach
from clerkship.by_name import load
from clerkship.engine.grader import Grade, Grader
from clerkship.engine.score import status_of
from clerkship.engine.spec import BatchContext, FinishedTrial, OverloadCounter, TrialSpec, build_task_run, mark_repeated
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import PersonBrokeContract, PersonChecked
from clerkship.kit.text import replace_surrogates
from clerkship.kit.wall import perf_counter
from clerkship.model.conversation_key import parse_key
from clerkship.model.errors import PlatformError
from clerkship.model.run import Ending
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.usage import MODEL_USAGE, Role, Usage, read_agent_usage
from clerkship.playground.conversation import INVALID_PERSON
from clerkship.playground.playground import Playground

MAX_LOCK_SECONDS = 120.0
"""Time to wait for the lock of a playground: longer than the slowest request takes, such as a fax of many documents, so
that an agent does not turn a timeout into an error. A thread of the agent that cannot be stopped may hold it."""
MAX_QUOTE_LENGTH = 200
"""Characters of a quote in an error message. The log has the whole text."""


class TrialGrader(Grader):
    """Grades a trial that was just run, and builds its record."""

    def __init__(self, spec: TrialSpec, context: BatchContext, playground: Playground) -> None:
        super().__init__(spec.built, context.models, spec.trial)
        self._spec, self._context, self._playground = spec, context, playground
        self._started_at = perf_counter()
        self.answers: list[Any] = []
        """Empty if the agent gave no answer. A list, because None is a valid answer."""
        self.agent_error = ""
        self.overload = OverloadCounter()
        self.person_check_failed = False
        """Whether the check of how a person was played failed."""

    def finish(self, ending: Ending, error: str) -> FinishedTrial:
        """Close the playground and grade what happened. Every criterion is checked, whatever the ending."""
        playground, reason = self._playground, error
        error = error or playground.broken or "; ".join(playground.steps.errors)
        if error and ending != "cancelled":
            ending = "errored"
        elif playground.people.contract_breach is not None and ending != "cancelled":
            # Also if the agent failed or timed out afterwards: the conversation was already invalid.
            ending = INVALID_PERSON
            error = self._describe_breach(playground.people.contract_breach, self._find_invalid_person())
        else:
            ending, error = self._check_people(ending)
            error = error or reason
        if not playground.lock.acquire(timeout=MAX_LOCK_SECONDS):
            raise PlatformError("the playground is still locked by the agent's thread")
        try:
            playground.end(ending)
        finally:
            playground.lock.release()
        return self._build(ending, error, self.grade(self._evidence(ending)))

    def build_errored(self, error: str) -> FinishedTrial:
        """Build the record of a trial that could not be graded: its log so far, and the error."""
        self._playground.close()
        return self._build("errored", error)

    def _find_invalid_person(self) -> str:
        """Return the sandbox of the person who broke the contract."""
        return next(
            sandbox for sandbox, reason in self._playground.people.leave_reasons.items() if reason == INVALID_PERSON
        )

    def _describe_breach(self, breach: ContractBreach, sandbox: str) -> str:
        message = breach.would_have_said
        quote = (
            f"; they would have said {message[:MAX_QUOTE_LENGTH]!r}{'…' * (len(message) > MAX_QUOTE_LENGTH)}"
            if message
            else ""
        )
        where = f" on {sandbox}" if self._has_several_people else ""
        return f"the person{where} did not keep to their role ({breach.rule}): {breach.reason}{quote}"

    @property
    def _has_several_people(self) -> bool:
        return len(self._spec.built.people) > 1

    def _check_people(self, ending: Ending) -> tuple[Ending, str]:
        """Have a judge check how each person was played, if that is requested and can affect the verdict.

        Return the ending and the error of the trial.
        """
        models = self._models
        if not self._spec.built.improvises or models.skips_judged or status_of(ending) != "completed":
            return ending, ""
        for sandbox, person in self._spec.built.people_for_trial(self._spec.trial).items():
            if models.checks_person(person):
                ending, error = self._check_person(sandbox, person, ending)
                if error:
                    return ending, error
        return ending, ""

    def _check_person(self, sandbox: str, person: ScenarioPerson, ending: Ending) -> tuple[Ending, str]:
        evidence = replace(self._evidence(ending), model=self.model_for("person_check"))
        person_check = load("clerkship.engine.person_check")  # few runs check how people are played
        if self._has_several_people:
            evidence = person_check.only_conversation(evidence, sandbox)
        try:
            result = person_check.check_person(person, evidence)
        except person_check.PersonCheckFailed as error:
            self.person_check_failed = True
            return "errored", str(error)
        fields: dict[str, Any] = {"lines": result.lines, "model": result.model, "prompt": result.prompt}
        breach = None if result.is_as_described else ContractBreach("model_check", result.reason, "")
        with self._playground.lock:
            self._playground.people.listening = False
            self._playground.emit(
                parse_key(sandbox).sandbox if self._has_several_people else "run",
                PersonChecked(reason=result.reason, **fields)
                if breach is None
                else PersonBrokeContract(rule=breach.rule, reason=breach.reason, **fields),
                "run",
            )
        return (ending, "") if breach is None else (INVALID_PERSON, self._describe_breach(breach, sandbox))

    def _build(self, ending: Ending, error: str, graded: Grade = Grade()) -> FinishedTrial:  # noqa: B008  (it is frozen)
        self._context.gateway.remove_playground(self._playground)
        spec, playground, models, log = self._spec, self._playground, self._models, self._playground.log
        recording_error = models.recording_error(spec.built.snapshot.task.name, spec.trial)
        if recording_error and ending != "cancelled":  # a question was not in the recording, so the grade is incomplete
            ending, error, graded = "errored", recording_error, Grade()
        if not models.replays:
            playground.sidecar.facts["wall_ms"] = round((perf_counter() - self._started_at) * 1000, 3)
        task_run = build_task_run(
            spec,
            ending,
            log,
            error,
            verdict=graded.score.verdict,
            score=graded.score.score,
            axes=graded.score.axes,
            criteria=graded.criteria,
            timeout=spec.built.snapshot.timeout,
            agent_error=replace_surrogates(self.agent_error),
            answer=self.answers[-1] if self.answers else None,
            models=self._find_usage(),
            quality=graded.quality,
            notes=graded.notes,
        )
        sidecar = orjson.dumps(playground.sidecar.data(timed=not models.replays))
        finished = FinishedTrial(task_run, log.data(), log.blobs, sidecar)
        is_repeated = task_run.status == "timed_out" and self.overload.is_significant and not spec.alone
        return mark_repeated(finished, spec) if is_repeated else finished

    def _find_usage(self) -> dict[Role, Usage]:
        """Return the usage of models, with that of the agent if it reports one."""
        agent = read_agent_usage(self._playground.sidecar.facts.get(MODEL_USAGE))
        used: dict[Role, Usage] = {"agent": agent} if agent is not None else {}
        return used | self.usage.used()

    def _evidence(self, ending: Ending) -> Evidence:
        states = {name: component.state for name, component in self._playground.components.items()}
        playground = self._playground
        return self.evidence(playground.log.ordered(), states, ending, self.answers, playground.sidecar)
