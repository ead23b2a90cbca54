"""A persona: a person's manner and knowledge, independent of a task, so that many people can share it."""

from typing import Annotated

from pydantic import Field, JsonValue

from clerkship.model.frozen import Flag, Frozen
from clerkship.model.pattern import Regex
from clerkship.model.run_options import PersonFacts

DEFAULT_PERSON_FACTS: PersonFacts = "free"


class Persona(Frozen):
    """A person's manner, patience and knowledge, and the facts that they know about themselves."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(min_length=1, description="manner, patience and knowledge, in plain words")]
    language: Annotated[str | None, Field(description="language they speak; default: English")] = None
    knows: Annotated[dict[str, JsonValue], Field(description="facts about them, which they tell when asked")] = {}
    never_says: Annotated[
        tuple[Regex, ...], Field(description="regular expressions that nothing they say may match")
    ] = ()
    facts: Annotated[
        PersonFacts | None,
        Field(description="`strict`: they make up no numbers, dates and addresses; `free`: they may; none: as the run"),
    ] = None
    may_invent: Annotated[
        Flag, Field(description="older form of `facts`: true for `free`, false for `strict`; `facts` wins")
    ] = False

    @property
    def stated_facts(self) -> PersonFacts | None:
        """What the file says by `facts` or `may_invent`; None if it gives neither."""
        if self.facts is not None or "may_invent" not in self.model_fields_set:
            return self.facts
        return "free" if self.may_invent else "strict"
