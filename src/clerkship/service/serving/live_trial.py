"""One trial whose agent works through the API.

The trial runs until its agent is asked something, and is resumed with the answer. Meanwhile it takes no thread.
"""

import threading
from collections.abc import Mapping
from typing import Any

from clerkship.actors.contract import AgentError, AgentStopped
from clerkship.actors.remote import AgentQuestion, Answer
from clerkship.actors.sandbox_requests import AgentRequests
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec
from clerkship.engine.trial import Trial
from clerkship.engine.worker import describe_failure, finish_trial, render_bug_traceback
from clerkship.events.log import Subscriber
from clerkship.model.errors import PlatformError
from clerkship.model.run import Ending
from clerkship.service.serving.refusals import RequestConflict


class LiveTrial:
    """A trial under way. Its steps run in the threads of requests, one at a time."""

    def __init__(self, spec: TrialSpec, context: BatchContext) -> None:
        self.spec = spec
        self._trial = Trial(spec, context)
        self._steps = self._trial.play()
        self._lock = threading.Lock()
        self._question: AgentQuestion | None = None
        self._is_started = False
        self._deadline = self._trial.time() + self._trial.timeout
        self._heartbeat: float | None = None
        self._heard_at = self._trial.time()
        self.finished: FinishedTrial | None = None
        """The graded trial, once it has ended."""
        self.playground = self._trial.playground

    @property
    def question(self) -> dict[str, Any] | None:
        """What the agent was asked; None once the trial has ended."""
        question = self._question
        return None if question is None else question.message

    @property
    def seconds_left(self) -> float:
        """How many wall seconds the agent has for the task, or for the reply that a person waits for."""
        return max(min(self._deadline, self._trial.turn_deadline) - self._trial.time(), 0.0)

    @property
    def is_overdue(self) -> bool:
        """Whether the time for the task or for the reply to a person is over, or the agent has not been heard of."""
        time = self._trial.time()
        is_silent = self._heartbeat is not None and time > self._heard_at + self._heartbeat
        return is_silent or time > self._deadline or time > self._trial.turn_deadline

    def hear(self, within: float | None = None) -> None:
        """Note that the agent is there. With seconds given, the trial ends if it is not heard of again within them."""
        self._heard_at = self._trial.time()
        if within is not None:
            self._heartbeat = within

    @property
    def lines(self) -> list[bytes]:
        """The lines of the log so far."""
        return self.playground.log.lines

    @property
    def blobs(self) -> Mapping[str, bytes]:
        """The bodies that the log refers to, by hash."""
        return self.playground.log.blobs

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call a function with every later event."""
        self.playground.subscribe(subscriber)

    def start(self) -> None:
        """Run the scenario and give the agent its first question, once. A second call waits for the first."""
        with self._lock:
            if not self._is_started:
                self._is_started = True
                self._advance(None)

    def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a request of the agent to a sandbox; return its value, or the error to raise in the agent."""
        question, requests = self._question, AgentRequests()
        if question is None:
            raise RequestConflict("the task run has ended")
        if message.get("body"):
            requests.take_part(message["body"])
        return requests.execute(message, question.sandboxes)

    def answer(self, reply: dict[str, Any] | AgentError) -> None:
        """Resume the trial with a reply of the agent, or with its failure.

        Raise AgentError for an invalid reply, and change nothing.
        """
        with self._lock:
            if self._question is None:
                raise RequestConflict("the task run has ended")
            answer = reply if isinstance(reply, AgentError) else self._question.parse(reply)
            self._question = None
            self._advance(answer)

    def stop(self, ending: Ending, *, wait: bool = True) -> None:
        """End the trial at `timed_out` or `cancelled`, and grade what happened, unless it has ended.

        If it runs just now, wait for its next question, or do nothing.
        """
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if self.finished is None:
                self._question = None
                self._steps.close()
                self._finish(self._trial.ending_if_stopped(ending))
        finally:
            self._lock.release()

    def _advance(self, answer: Answer | AgentError | None) -> None:
        """Run the trial until its agent is asked something, or to its end."""
        try:
            steps = self._steps
            question = steps.throw(answer) if isinstance(answer, AgentError) else steps.send(answer)
        except StopIteration as end:
            self._finish("timed_out" if self._trial.time() > self._deadline else end.value)
        except AgentStopped:
            self._finish("cancelled")
        except Exception as error:  # any error becomes the result of the trial
            self._trial.save_traceback(render_bug_traceback(error))
            self._finish("errored", describe_failure(error))
        else:
            if not isinstance(question, AgentQuestion):
                raise PlatformError(f"a trial waits for {type(question).__name__}, and only an agent may be waited for")
            self._question = question

    def _finish(self, ending: Ending, error: str = "") -> None:
        self.finished = finish_trial(self._trial, ending, error)
