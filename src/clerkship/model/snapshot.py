"""Snapshots and plans: what a run needs to be repeated or graded again without the files it was loaded from."""

import hashlib
from functools import cached_property
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator

from clerkship.model.dataset import Record
from clerkship.model.environment import GATE_AXES, Environment
from clerkship.model.freeze import freeze
from clerkship.model.frozen import Frozen
from clerkship.model.task import Task
from clerkship.model.variables import NOT_EXPANDED, find_variable_names

GRADING_VERSION = "13"
"""The version of the grading rules. Increment it whenever the same evidence could get another verdict, and say in
report/grading_versions.py what changed.
"""


class ContentAddressed(Frozen):
    """Data with one canonical byte form, stored by its hash."""

    @cached_property
    def data(self) -> bytes:
        """The JSON bytes. Keys keep the order of the file, because an agent receives them in that order."""
        return orjson.dumps(self.model_dump(mode="json"))

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the bytes, its key in the store."""
        return hashlib.sha256(self.data).hexdigest()


class Snapshot(ContentAddressed):
    """One task at the start of the run, with everything that it refers to."""

    task: Task
    environment: Environment
    datasets: dict[str, str] = {}
    entities: Annotated[dict[str, Record], AfterValidator(freeze)] = {}
    solution: str | None = None
    """Stored only for agents that run it, because other agents might read the store."""
    timeout: float
    gate_axes: tuple[str, ...] = GATE_AXES
    """The axes by which gates were decided. In the task, `gate` of every criterion is already set."""
    source: str = ""
    template: str = ""
    """Name of the task in the file, if `for_each` made this one from it."""
    grading: str = GRADING_VERSION

    @property
    def task_hash(self) -> str:
        """A hash of the task itself, without limits of the run, the path of the file, and the solution, which only some
        agents store.
        """
        data = self.model_dump(mode="json", exclude={"source", "timeout", "grading", "template", "solution"})
        data["task"].pop("for_each")  # always None in a task that is run
        scenario = data["task"]["scenario"] or {}
        _remove_if_empty(data["task"], "monitors")
        _remove_if_empty(data["task"], "done_within")
        _remove_if_empty(data["environment"], "monitors")
        _remove_if_empty(scenario, "people")
        _remove_if_empty(scenario.get("person") or {}, "by_trial")
        for person in (scenario.get("person") or {}, *scenario.get("people", ())):
            for key in ("channel", "address", "subject", "answers_after", "tools"):
                _remove_if_empty(person, key)
            _remove_unused_tools(person)
            _rename_facts(person)
        for limit in ("max_turns", "turn_timeout"):
            scenario.pop(limit, None)
        _remove_if_empty(data["environment"], "domains")
        data["environment"].pop("axes")  # only checked when files are loaded
        return hashlib.sha256(orjson.dumps(data)).hexdigest()

    def variables(self) -> set[str]:
        """Return the names of the environment variables that the task uses."""
        if b"${" not in self.data:
            return set()
        return find_variable_names(self.task.model_dump_json(exclude=set(NOT_EXPANDED)))

    @cached_property
    def setup_hash(self) -> str:
        """A hash of what the agent starts with, without the people and the criteria."""
        data = self.model_dump(mode="json", include={"environment", "datasets", "entities"})
        data["environment"].pop("monitors")
        _remove_if_empty(data["environment"], "domains")
        data["environment"].pop("axes")  # only checked when files are loaded
        task = self.task.model_dump(mode="json", include={"name", "task_item", "scenario"})
        for other in ("max_turns", "turn_timeout", "person", "people"):
            (task["scenario"] or {}).pop(other, None)
        return hashlib.sha256(orjson.dumps(data | task, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


class UntilSure(Frozen):
    """Repeat a task until the confidence interval of its pass rate is entirely above or below this threshold."""

    threshold: float


class Plan(ContentAddressed):
    """Which tasks to run, how often, and in what order. Two runs with the same plan did the same work."""

    snapshots: tuple[str, ...]
    """Hashes of the tasks' snapshots."""
    seed: int
    trials: int
    """How often each task is run; with `until_sure`, the maximum."""
    until_sure: UntilSure | None = None
    shuffle: bool = False


def _remove_unused_tools(person: dict[str, Any]) -> None:
    """Remove `use` from the parts of a script that use no tool."""
    for variant in (person, *(person.get("by_trial") or ())):
        for part in (*(variant.get("script") or ()), *(variant.get("lines") or ())):
            _remove_if_empty(part, "use")


def _rename_facts(person: dict[str, Any]) -> None:
    """Write `facts` as `may_invent`, as older versions did, so that hashes equal those of older versions."""
    facts = person.pop("facts", None)
    if facts is not None:
        person["may_invent"] = facts == "free"
    if isinstance(person.get("persona"), dict):
        _remove_if_empty(person["persona"], "facts")


def _remove_if_empty(data: dict[str, Any], key: str) -> None:
    """Remove an empty key that older versions did not have, so that hashes equal those of older versions."""
    if not data.get(key, True):
        del data[key]
