"""A model as used by one trial: usage is counted, each question belongs to the trial; questions asked concurrently."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum
from typing import TypeVar

from pydantic import BaseModel

from clerkship.llm.contract import BadAnswer, Embeddings, Model, ModelAnswer, Question, is_instant
from clerkship.llm.retry import ModelOutage, RequestDeclined
from clerkship.model.usage import NO_USAGE, Role, Usage

A = TypeVar("A")
R = TypeVar("R")
MAX_THREADS = 8
"""Threads for one call, including the caller's own; endpoints have their own limit."""
MAX_PROCESS_THREADS = 48
"""With so many threads in the process no more are started: that many trials keep an endpoint busy."""
T = TypeVar("T", bound=BaseModel)


def map_concurrently(ask: Callable[[A], R], items: Sequence[A], *, waits: bool = True) -> list[R]:
    """Call a function for each item in several threads, and return the results in order.

    When all are done, the first error is raised. Items are processed one by one if there is nothing to wait for.
    """
    if len(items) < 2 or not waits or threading.active_count() >= MAX_PROCESS_THREADS:
        return [ask(item) for item in items]
    waiting = iter(range(len(items)))
    """Each thread takes the next number, which no other thread gets."""
    results: dict[int, R] = {}
    wrong: dict[int, BaseException] = {}

    def work() -> None:
        for number in waiting:
            try:
                results[number] = ask(items[number])
            except BaseException as error:  # re-raised in the calling thread
                wrong[number] = error

    # Daemons: waiting for a model that does not answer must not keep the process from exiting.
    others = [threading.Thread(target=work, daemon=True) for _ in range(min(len(items), MAX_THREADS) - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if wrong:
        raise wrong[min(wrong)]
    return [results[number] for number in range(len(items))]


class UsageCounter:
    """The usage of models in one trial, by role."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._used: dict[Role, list[Usage]] = {}

    def add(self, role: Role, usage: Usage) -> None:
        """Add the usage of one question."""
        with self._gate:
            self._used.setdefault(role, []).append(usage)

    def used(self) -> dict[Role, Usage]:
        """Return the usage so far; the sum does not depend on the order of the answers."""
        totals: dict[Role, Usage] = {}
        with self._gate:
            for role, each in sorted(self._used.items()):
                total = sum(each, NO_USAGE)
                costs = [usage.cost for usage in each if usage.cost is not None]
                totals[role] = total if total.cost is None else total.model_copy(update={"cost": fsum(costs)})
        return totals


class TrialModel:
    """A model as one trial uses it in one role."""

    def __init__(self, model: Model, role: Role, trial: int, usage: UsageCounter) -> None:
        self.name = model.name
        self.role: Role = role
        self.instant = is_instant(model)
        self._model, self._trial, self._usage = model, trial, usage

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Ask, and count the usage even if the answer is invalid."""
        sample = f"trial {self._trial}{', ' * bool(question.sample)}{question.sample}"
        try:
            answer = self._model.ask(replace(question, sample=sample))
        except (BadAnswer, RequestDeclined, ModelOutage) as failed:
            if failed.usage != NO_USAGE:
                self._usage.add(self.role, failed.usage)
            raise
        self._usage.add(self.role, answer.usage)
        return answer

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the embeddings of texts, and count their usage."""
        vectors = self._model.embed(texts)
        if isinstance(vectors, Embeddings):
            self._usage.add(self.role, vectors.usage)
        return vectors

    def close(self) -> None:
        """Do nothing: other trials share the model."""
