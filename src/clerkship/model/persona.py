"""A persona: a person's manner and knowledge, independent of a task, so that many people can share it."""

from typing import Annotated

from pydantic import Field, JsonValue

from clerkship.model.frozen import Flag, Frozen
from clerkship.model.pattern import Regex


class Persona(Frozen):
    """A person's manner, patience and knowledge, and the facts that they know about themselves."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(min_length=1, description="manner, patience and knowledge, in plain words")]
    language: Annotated[str | None, Field(description="language they speak; default: English")] = None
    knows: Annotated[dict[str, JsonValue], Field(description="facts about them, which they tell when asked")] = {}
    never_says: Annotated[
        tuple[Regex, ...], Field(description="regular expressions that nothing they say may match")
    ] = ()
    may_invent: Annotated[Flag, Field(description="whether they may make up numbers, dates and addresses")] = False
