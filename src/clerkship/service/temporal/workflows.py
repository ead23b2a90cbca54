"""The workflows: a batch of trials, each an activity, and a part of content that workers fetch by its digest.

Workflow code must be deterministic, and its history is read by later versions: change it only with a new name.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception
from temporalio.workflow import ActivityCancellationType

BATCH, CONTENT, TRIAL = "clerkship-batch-1", "clerkship-content-1", "clerkship-trial-1"
RETRY_SECONDS = 0.5
MAX_SECONDS_OVER = 3600.0
"""How much longer than its own time limit an activity may take: to build the run, and to grade."""


@dataclass
class TrialInput:
    """What a worker is told of a trial."""

    run: str
    """The digest of the frozen run."""
    task: str
    trial: int
    attempt: int
    """The number of the first attempt; that of the activity is added to it."""
    alone: bool
    queue: str
    timeout: float

    @property
    def key(self) -> str:
        """The id of the activity."""
        return f"{self.task} {self.trial} {self.attempt}"


@dataclass
class BatchInput:
    """Trials, and how they are run."""

    trials: list[TrialInput]
    heartbeat: float
    """Seconds without a sign of life after which another worker gets the trial."""
    attempts: int
    """How often a trial is begun by workers that do not finish it."""


@workflow.defn(name=BATCH)
class BatchWorkflow:
    """Runs the trials of a batch, and ends when each has a result. Their results are read from its history."""

    @workflow.run
    async def run(self, batch: BatchInput) -> None:
        """Run all trials. If it is cancelled, those that have begun are cancelled by their workers."""
        await asyncio.gather(*(_run_trial(trial, batch) for trial in batch.trials))


async def _run_trial(trial: TrialInput, batch: BatchInput) -> None:
    """Wait for the end of a trial. One that fails for good stands in the history, and does not end the others."""
    try:
        await workflow.execute_activity(
            TRIAL,
            trial,
            activity_id=trial.key,
            task_queue=trial.queue,
            start_to_close_timeout=timedelta(seconds=trial.timeout + MAX_SECONDS_OVER),
            heartbeat_timeout=timedelta(seconds=batch.heartbeat),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=RETRY_SECONDS),
                backoff_coefficient=1.0,
                maximum_attempts=batch.attempts,
            ),
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            result_type=bytes,
        )
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise


@workflow.defn(name=CONTENT)
class ContentWorkflow:
    """Keeps a part of content in its history, and does nothing else."""

    @workflow.run
    async def run(self, part: bytes) -> None:
        """Return at once."""
