"""A persona: a person's manner and knowledge, independent of a task, so that many people can share it."""

from typing import Annotated

from pydantic import Field, JsonValue

from clerkship.model.frozen import Flag, Frozen
from clerkship.model.pattern import Regex


class Persona(Frozen):
    """A person's manner, patience and knowledge, and the facts that they know about themselves."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(min_length=1, description="manner, patience, knowledge, in plain words")]
    language: Annotated[str | None, Field(description="what they speak; English if nobody says")] = None
    knows: Annotated[dict[str, JsonValue], Field(description="facts about them, told when asked")] = {}
    never_says: Annotated[
        tuple[Regex, ...], Field(description="regular expressions on what may not come from them")
    ] = ()
    may_invent: Annotated[Flag, Field(description="whether they may make up numbers, dates and addresses")] = False
