"""A benchmark: a selection of the tasks of a folder, with limits of its own."""

from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen, Number, Whole


class Benchmark(Frozen):
    """Tasks, selected by name (`*` allowed), and the limits they run under."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
    version: Annotated[Whole, Field(ge=1)] = 1
    description: str = ""
    environment: Annotated[str | None, Field(description="the environment of tasks that name none")] = None
    tasks: Annotated[tuple[str, ...], Field(description="names of tasks, or patterns with *")] = ("*",)
    tags: Annotated[tuple[str, ...], Field(description="run only tasks with one of these tags")] = ()
    gate_axes: Annotated[
        tuple[str, ...] | None,
        Field(description="axes whose criteria gate unless they say `gate: false`; default: those of the environment"),
    ] = None
    axes: Annotated[tuple[str, ...], Field(description="further axes that criteria may have")] = ()
    timeout: Annotated[Number | None, Field(gt=0, le=86_400, description="wall seconds per task")] = None
    concurrency: Annotated[Whole | None, Field(ge=1, le=1000)] = None
