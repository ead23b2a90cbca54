"""Decide which trials to run: those of the plan that have no result yet. With `--until-sure`, do so round by round."""

from collections.abc import Collection, Iterable, Sequence

from clerkship.engine.build import BuiltTask
from clerkship.engine.spec import FinishedTrial, TrialSpec
from clerkship.kit.rng import shuffle
from clerkship.kit.statistics import side_of_threshold
from clerkship.model.run import Shard, Status, TrialOutcome, Verdict
from clerkship.model.snapshot import Plan

ROUND_SIZE = 5
"""Trials of a task between two checks of its pass rate. Fixed, so that the result does not depend on concurrency."""


def choose_shard(plan: Plan, tasks: Sequence[str], shard: Shard) -> frozenset[tuple[str, int]]:
    """Return the trials of a shard, by task and number. They depend on the plan alone.

    Trials are dealt out in an order drawn from the seed, so that those of a slow task are in many shards. With
    `until_sure` all trials of a task are in one shard, because later ones depend on earlier ones.
    """
    numbers = range(1, plan.trials + 1)
    if plan.until_sure is not None:
        groups = [[(task, number) for number in numbers] for task in tasks]
    else:
        groups = [[(task, number)] for number in numbers for task in tasks]
    dealt = shuffle(groups, f"shards of {plan.seed}")[shard.number - 1 :: shard.count]
    return frozenset(trial for group in dealt for trial in group)


class TrialSchedule:
    """Chooses the trials of a run, given the outcomes that are already known.

    Trials are not repeated, except those with one of the `repeated_statuses`, which get another attempt.
    """

    def __init__(
        self,
        tasks: Sequence[BuiltTask],
        plan: Plan,
        run: str,
        known: Iterable[TrialOutcome] = (),
        repeated_statuses: Collection[Status] = frozenset({"cancelled"}),
        *,
        shard: Shard | None = None,
    ) -> None:
        self._tasks = {built.snapshot.task.name: built for built in tasks}
        self._plan = plan
        self._run = run
        self._repeated_statuses = repeated_statuses
        self._chosen = choose_shard(plan, tuple(self._tasks), shard) if shard is not None else None
        self._attempts: dict[tuple[str, int], int] = {}
        self._settled: dict[str, dict[int, Verdict | None]] = {name: {} for name in self._tasks}
        self._scheduled = dict.fromkeys(self._tasks, 0)
        for outcome in known:
            self._add_outcome(outcome)

    def first_trials(self) -> list[TrialSpec]:
        """Return the trials to start with: the first trial of every task, then the second, and so on."""
        jobs = [job for name in self._tasks for job in self._next_round(name)]
        jobs.sort(key=lambda job: job.trial)
        return shuffle(jobs, self._plan.seed) if self._plan.shuffle else jobs

    def next_trials(self, finished: Iterable[FinishedTrial]) -> list[TrialSpec]:
        """Return further trials, given those that have finished."""
        if self._plan.until_sure is None:
            return []
        names = dict.fromkeys(self._add_outcome(item.task_run.outcome()).task for item in finished)
        return [job for name in names for job in self._next_round(name)]

    def _add_outcome(self, outcome: TrialOutcome) -> TrialOutcome:
        self._attempts[outcome.task, outcome.trial] = outcome.attempt
        if outcome.status not in self._repeated_statuses:
            self._settled[outcome.task][outcome.trial] = outcome.verdict
        return outcome

    def _next_round(self, name: str) -> list[TrialSpec]:
        """Return the next round of a task, if its last round is finished and its pass rate is not certain yet."""
        settled, round_size = self._settled[name], ROUND_SIZE if self._plan.until_sure else self._plan.trials
        jobs: list[TrialSpec] = []
        while not jobs and self._scheduled[name] < self._plan.trials:
            scheduled = range(1, self._scheduled[name] + 1)
            if any(trial not in settled for trial in scheduled) or self._is_sure(
                [settled[trial] for trial in scheduled]
            ):
                break
            last = min(self._scheduled[name] + round_size, self._plan.trials)
            jobs = [
                self._build_trial(name, trial)
                for trial in range(len(scheduled) + 1, last + 1)
                if trial not in settled and (self._chosen is None or (name, trial) in self._chosen)
            ]
            self._scheduled[name] = last
        return jobs

    def _is_sure(self, verdicts: Sequence[Verdict | None]) -> bool:
        if self._plan.until_sure is None or not verdicts:
            return False
        graded = [verdict for verdict in verdicts if verdict in ("pass", "partial", "fail")]
        if not graded:
            return True  # no trial could be graded so far, so more trials will not help
        return side_of_threshold(graded.count("pass"), len(graded), self._plan.until_sure.threshold) != "not sure"

    def _build_trial(self, name: str, trial: int) -> TrialSpec:
        attempt = self._attempts.get((name, trial), 0) + 1
        return TrialSpec(self._tasks[name], self._run, self._plan.seed, trial, attempt)
