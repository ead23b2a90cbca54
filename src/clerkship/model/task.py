"""A task: a situation, the instructions for the agent, and the criteria for success."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from clerkship.model.call import AssertionCall
from clerkship.model.criterion import Criterion
from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.model.quality import Metrics
from clerkship.model.scenario import Expected, Scenario, ScenarioPerson

MAX_NAME_LENGTH = 200
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
EntityId = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="name of the record in templates")]


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
    timeout: Annotated[Number | None, Field(gt=0, le=86_400, description="wall seconds")] = None
    criteria: Annotated[tuple[Criterion, ...], Field(description="typed assertions, checked after the run")] = ()
    metrics: Annotated[Metrics, Field(description="further metrics for a model to rate; not part of the verdict")] = ()
    allow_inaction: Annotated[
        Flag, Field(description="whether an agent that does nothing may pass; turns off the gate `agent_acted`")
    ] = False
    environment: Annotated[str | None, Field(description="name of an environment in the same folder")] = None
    compat: Annotated[
        Literal["rasa"] | None,
        Field(description="the tool whose semantics the assertions follow where they differ from Clerkship's"),
    ] = None
    solution: Annotated[str | None, Field(description="Python file that `oracle` runs, relative to this file")] = None

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
