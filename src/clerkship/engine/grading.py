"""Grade a trial that was played: check how people were played, judge the criteria, build the record."""

from dataclasses import dataclass, replace
from typing import Any

import orjson

from clerkship.actors.contract import OutOfRole
from clerkship.engine.finished import Finished, repeated_alone
from clerkship.engine.person_check import Unchecked, check_person, in_conversation
from clerkship.engine.quality import rate
from clerkship.engine.score import Score, fold, implied_checks, is_crash, judge, status_of
from clerkship.engine.spec import BatchContext, TrialSpec
from clerkship.engine.watchdog import Crowding
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import PersonBrokeContract, PersonChecked
from clerkship.kit.text import writable
from clerkship.kit.wall import perf_counter
from clerkship.llm.asker import Asker, Tally
from clerkship.model.problem import PlatformError
from clerkship.model.quality import Quality
from clerkship.model.run import CriterionRun, Ending, TaskRun
from clerkship.model.scenario import Person
from clerkship.model.usage import Role
from clerkship.playground.conversation import INVALID
from clerkship.playground.playground import Playground

LOCK_LIMIT = 2.0
MAX_QUOTE = 200
"""Characters of what a person would have said in an error message; the log has all of it."""
UNGRADED = Score(None, None, {})


@dataclass
class AgentResult:
    """What the agent returned for a task, or how it failed."""

    answer: Any = None
    answered: bool = False
    error: str = ""


class TrialGrader:
    """Grades one trial."""

    def __init__(self, spec: TrialSpec, context: BatchContext, playground: Playground) -> None:
        self._spec, self._context, self._playground = spec, context, playground
        self._began = perf_counter()
        self._tally = Tally()
        self.agent = AgentResult()
        self.crowding = Crowding()
        self.unchecked = False
        """Whether it could not be checked how a person was played."""

    def asker(self, role: Role) -> Asker | None:
        """Return the model that is asked in a role; None where there is none."""
        spec = self._spec
        return self._context.models.asker(role, spec.built.snapshot, spec.trial, self._tally)

    def grade(self, ending: Ending, error: str) -> Finished:
        """End the playground and grade what happened. Every criterion is checked, whatever the ending."""
        playground = self._playground
        error = error or playground.broken or "; ".join(playground.steps.errors)
        if error and ending != "cancelled":
            ending = "errored"
        elif playground.people.out_of_role is not None and ending != "cancelled":  # whatever the agent made of it
            ending, error = INVALID, self._describe(playground.people.out_of_role, self._invalid_at())
        else:
            ending, error = self._check_people(ending)
        if not playground.lock.acquire(timeout=LOCK_LIMIT):
            raise PlatformError("the playground never came to rest")
        try:
            playground.end(ending)
        finally:
            playground.lock.release()
        return self._judge(ending, error)

    def errored(self, error: str) -> Finished:
        """Return a trial that could not be graded: its log so far, and why."""
        self._playground.close()
        return self._build("errored", error)

    def _invalid_at(self) -> str:
        return next(sandbox for sandbox, reason in self._playground.people.left.items() if reason == INVALID)

    def _describe(self, broken: OutOfRole, sandbox: str) -> str:
        said = broken.would_have_said
        instead = f"; they would have said {said[:MAX_QUOTE]!r}{'…' * (len(said) > MAX_QUOTE)}" if said else ""
        where = f" on {sandbox}" if self._has_several_people else ""
        return f"the person{where} did not keep to their role ({broken.rule}): {broken.reason}{instead}"

    @property
    def _has_several_people(self) -> bool:
        return len(self._spec.built.people) > 1

    def _check_people(self, ending: Ending) -> tuple[Ending, str]:
        """Have a judge check how each person was played, where that is asked for and a verdict depends on it."""
        models = self._context.models
        if models.skips_judged or status_of(ending) != "completed":
            return ending, ""
        for sandbox, person in self._spec.built.people_in(self._spec.trial).items():
            if models.checks(person):
                ending, error = self._check_person(sandbox, person, ending)
                if error:
                    return ending, error
        return ending, ""

    def _check_person(self, sandbox: str, person: Person, ending: Ending) -> tuple[Ending, str]:
        evidence = replace(self._evidence(ending), model=self.asker("person_check"))
        if self._has_several_people:
            evidence = in_conversation(evidence, sandbox)
        try:
            opinion = check_person(person, evidence)
        except Unchecked as error:
            self.unchecked = True
            return "errored", str(error)
        about: dict[str, Any] = {"lines": opinion.lines, "model": opinion.model, "prompt": opinion.prompt}
        broken = None if opinion.kept else OutOfRole("model_check", opinion.reason, "")
        with self._playground.lock:
            self._playground.people.listening = False
            self._playground.emit(
                sandbox if self._has_several_people else "run",
                PersonChecked(reason=opinion.reason, **about)
                if broken is None
                else PersonBrokeContract(rule=broken.rule, reason=broken.reason, **about),
                "run",
            )
        return (ending, "") if broken is None else (INVALID, self._describe(broken, sandbox))

    def _judge(self, ending: Ending, error: str) -> Finished:
        built, models = self._spec.built, self._context.models
        status, evidence = status_of(ending), self._evidence(ending)
        checks = (*built.checks, *implied_checks(evidence))
        criteria = judge(checks, evidence, skip_judged=models.skips_judged, variables=built.variables)
        rates = models.rates(built.task) and status == "completed"
        quality = rate(evidence, self.asker("metrics"), built.variables) if rates else None
        return self._build(ending, error, criteria, fold(criteria, status, crashed=is_crash(ending)), quality)

    def _build(
        self,
        ending: Ending,
        error: str,
        criteria: tuple[CriterionRun, ...] = (),
        score: Score = UNGRADED,
        quality: Quality | None = None,
    ) -> Finished:
        self._context.gateway.dismiss(self._playground)
        spec, playground, models = self._spec, self._playground, self._context.models
        snapshot, log = spec.built.snapshot, playground.log
        missed = models.missed(snapshot.task.name, spec.trial)
        if missed and ending != "cancelled":  # a question was not in the recording: nothing was graded on its answer
            ending, error, criteria, score, quality = "errored", missed, (), UNGRADED, None
        if not models.replays:
            playground.sidecar.facts["wall_ms"] = round((perf_counter() - self._began) * 1000, 3)
        task_run = TaskRun(
            run=spec.run,
            task=snapshot.task.name,
            trial=spec.trial,
            attempt=spec.attempt,
            status=status_of(ending),
            verdict=score.verdict,
            score=score.score,
            axes=score.axes,
            criteria=criteria,
            ending=ending,
            timeout=snapshot.timeout,
            error=writable(error),
            agent_error=writable(self.agent.error),
            answer=self.agent.answer,
            head=log.head,
            events=len(log.events),
            snapshot=snapshot.hash,
            template=snapshot.template,
            tags=snapshot.task.tags,
            models=self._tally.used(),
            quality=quality,
        )
        sidecar = orjson.dumps(playground.sidecar.data(timed=not models.replays))
        finished = Finished(task_run, log.data(), log.blobs, sidecar)
        is_repeated = task_run.status == "timed_out" and self.crowding and not spec.alone
        return repeated_alone(finished, spec) if is_repeated else finished

    def _evidence(self, ending: Ending) -> Evidence:
        built, models = self._spec.built, self._context.models
        return Evidence(
            task=built.task,
            events=self._playground.log.ordered(),
            states={name: component.state for name, component in self._playground.components.items()},
            ending=ending,
            answer=self.agent.answer,
            answered=self.agent.answered,
            entities=built.snapshot.entities,
            model=self.asker("judge"),
            prompts=models.prompts,
            parameters=models.parameters,
            votes=models.asking.votes,
            observers=built.observers,
        )
