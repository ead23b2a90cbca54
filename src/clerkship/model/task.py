"""A task with its criteria: a situation, instructions, what counts as success; and a benchmark that selects tasks."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from clerkship.model.call import AssertionCall
from clerkship.model.duration import Duration, Seconds
from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.model.monitor_settings import MonitorSettings
from clerkship.model.quality import Metrics
from clerkship.model.scenario import Expected, Scenario, ScenarioPerson
from clerkship.model.variant import Variant, WrongSolution

MAX_NAME_LENGTH = 200
LEVELS = ("easy", "medium", "hard")
"""Tags that say how hard a task is."""
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
EntityId = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="name of the record in templates")]


class Benchmark(Frozen):
    """Tasks, selected by name (`*` allowed), and the limits they run under."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
    version: Annotated[Whole, Field(ge=1, le=999_999_999)] = 1
    description: str = ""
    environment: Annotated[str | None, Field(description="the environment of tasks that name none")] = None
    tasks: Annotated[tuple[str, ...], Field(description="names of tasks, or patterns with *")] = ("*",)
    tags: Annotated[tuple[str, ...], Field(description="run only tasks with one of these tags")] = ()
    gate_axes: Annotated[
        tuple[str, ...] | None,
        Field(description="axes whose criteria gate unless they say `gate: false`; default: those of the environment"),
    ] = None
    axes: Annotated[tuple[str, ...], Field(description="further axes that criteria may have")] = ()
    licence: Annotated[str, Field(max_length=200, description="under which others may use it, such as CC-BY-4.0")] = ""
    authors: Annotated[tuple[str, ...], Field(description="who made it")] = ()
    limits: Annotated[tuple[str, ...], Field(description="what it does not test, in words for its users")] = ()
    timeout: Annotated[Seconds | None, Field(gt=0, le=86_400, description="per task: wall seconds, or such as 1h")] = (
        None
    )
    concurrency: Annotated[Whole | None, Field(ge=1, le=1000)] = None


class Criterion(Frozen):
    """What must be true at the end, how much it counts, and whether the run fails without it."""

    label: Annotated[str, Field(min_length=1, description="what is checked, in words for a reviewer")]
    assertion: Annotated[AssertionCall, Field(description="a map with one key, the assertion's name")]
    weight: Annotated[
        Number, Field(ge=0, le=1_000_000, description="weight in the task's score; 0: shown, but not counted")
    ] = 1.0
    axis: Annotated[str | None, Field(description="group of criteria with a score of its own, such as safety")] = None
    input_entity_id: Annotated[
        str | None, Field(description="one of the task's entity ids: only what is about that record is checked")
    ] = None
    gate: Annotated[
        Flag | None,
        Field(
            description="whether the run fails if this fails, whatever the score; default: if `gate_axes` has its axis"
        ),
    ] = None

    def gated_by(self, axes: Collection[str]) -> "Criterion":
        """Return a copy with `gate` set: as written, otherwise by whether its axis is one of these."""
        names = {axis.strip().casefold() for axis in axes}
        gate = (self.axis or "").strip().casefold() in names if self.gate is None else self.gate
        return self if gate is self.gate else self.model_copy(update={"gate": gate})


class Entity(Frozen):
    """One record of a dataset, bound to a task by query. The query must match exactly one record."""

    id: EntityId
    dataset: str
    type: Annotated[str | None, Field(description="the record's type, such as Patient")] = None
    where: Annotated[
        dict[str, Expected],
        Field(description="literals or matchers by dotted path in the record, or by search parameter of its type"),
    ] = {}


class ForEach(Entity):
    """Records of a dataset, selected by query. One task is made for each record, which templates refer to by `id`."""

    limit: Annotated[
        Whole | None, Field(ge=1, le=10_000, description="maximum number of records, in the order of the dataset")
    ] = None


class Task(Frozen):
    """`name, task_item, scenario, entities, tags, timeout, criteria`, and the environment."""

    name: Annotated[Name, Field(description="short title, unique in the folder")]
    task_item: Annotated[
        dict[str, JsonValue] | None,
        Field(description="what the agent receives: instruction, trigger, expected_inputs, or any other key"),
    ] = None
    scenario: Annotated[Scenario | None, Field(description="what happens before and while the agent works")] = None
    entities: Annotated[tuple[Entity, ...], Field(description="records the task is about")] = ()
    for_each: Annotated[ForEach | None, Field(description="records for each of which one task is made")] = None
    tags: Annotated[tuple[str, ...], Field(description="labels to select and group by")] = ()
    timeout: Annotated[Seconds | None, Field(gt=0, le=86_400, description="wall seconds, or such as 90s or 1h")] = None
    criteria: Annotated[tuple[Criterion, ...], Field(description="typed assertions, checked after the run")] = ()
    metrics: Annotated[Metrics, Field(description="further metrics for a model to rate; not part of the verdict")] = ()
    allow_inaction: Annotated[
        Flag, Field(description="whether an agent that does nothing may pass; turns off the gate `agent_acted`")
    ] = False
    monitors: MonitorSettings = {}
    done_within: Annotated[
        Duration | None,
        Field(description="simulated time until the work must be done, told to the agent; default: one working day"),
    ] = None
    environment: Annotated[str | None, Field(description="name of an environment in the same folder")] = None
    compat: Annotated[
        Literal["rasa"] | None,
        Field(description="the tool whose semantics the assertions follow where they differ from Clerkship's"),
    ] = None
    solution: Annotated[str | None, Field(description="Python file that `oracle` runs, relative to this file")] = None
    wrong: Annotated[
        tuple[WrongSolution, ...],
        Field(exclude=True, description="wrong solutions, which `suite attack` runs and which must fail; not frozen"),
    ] = ()
    ways: Annotated[
        tuple[Variant, ...],
        Field(exclude=True, description="other correct solutions, which `suite attack` runs; they must pass"),
    ] = ()

    @property
    def people(self) -> tuple[ScenarioPerson, ...]:
        """The people of its scenario, in the order of the file."""
        return self.scenario.all_people if self.scenario is not None else ()

    def assertions(self) -> list[AssertionCall]:
        """Return the assertions of all criteria, with those inside an `any_of` in place of it."""
        return [call for criterion in self.criteria for _, call in criterion.assertion.leaves()]

    def gated_by(self, axes: Collection[str]) -> "Task":
        """Return a copy in which `gate` of every criterion is set."""
        return self.model_copy(update={"criteria": tuple(criterion.gated_by(axes) for criterion in self.criteria)})
