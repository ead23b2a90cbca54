"""A task's scenario: the steps that set the situation up, and the person in it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from clerkship.model.call import StepCall
from clerkship.model.frozen import Frozen, Whole
from clerkship.model.matcher import check_expected
from clerkship.model.pattern import compile_pattern


def _check_pattern(pattern: str) -> str:
    compile_pattern(pattern)
    return pattern


Regex = Annotated[str, AfterValidator(_check_pattern)]
Expected = Annotated[JsonValue, AfterValidator(check_expected)]
Where = Annotated[dict[str, Expected], Field(description="dotted path in the payload -> literal or matcher")]


Actor = Literal["agent", "person", "scenario", "reaction", "run"]


class EventMatch(Frozen):
    """Which events are meant: a kind (`*` allowed), and what their payload must look like."""

    event: Annotated[str, Field(min_length=1, description="event kind, such as files.file.written or files.*")]
    where: Where = {}
    sandbox: Annotated[str | None, Field(description="where it happened; anywhere if not given")] = None
    actor: Annotated[Actor | None, Field(description="who did it; anybody if not given")] = None


class Rule(Frozen):
    """When the person hears this, or this happens, they say that."""

    when: Annotated[Regex | EventMatch, Field(description="a regex on what the agent said, or an event")]
    say: Annotated[
        str | tuple[str, ...] | None,
        Field(description="a line, or one line per use, the last repeating; null to stay silent and wait"),
    ]
    times: Annotated[Whole | None, Field(ge=1, description="how often the rule may be used")] = None

    @model_validator(mode="after")
    def _something_to_say(self) -> "Rule":
        if self.say is not None and not self.say:
            raise ValueError("`say` is empty; give it a line, or null to stay silent")
        return self


class EndRule(Frozen):
    """When the person has had enough."""

    when: Annotated[Regex | EventMatch | None, Field(description="what ends the conversation")] = None
    say: Annotated[str | None, Field(description="the person's last line")] = None
    after: Annotated[Whole | None, Field(ge=1, description="ends after this many lines of the person")] = None


class Person(Frozen):
    """A scripted person: an opening line, rules in order, a fallback, an end. The same every time."""

    name: str = "person"
    sandbox: Annotated[str | None, Field(description="where they talk; the only chat sandbox if there is one")] = None
    opening: Annotated[str | None, Field(description="their first line; none if they wait to be spoken to")] = None
    script: tuple[Rule, ...] = ()
    fallback: Annotated[str | None, Field(description="said when no rule fits; without it they hang up")] = None
    end: EndRule = EndRule()


def _or_steps_alone(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    schema.clear()
    schema.update({"anyOf": [whole, whole["properties"]["steps"]]})


class Scenario(Frozen):
    """A short program run before the agent starts; a step with `at` runs while it works."""

    model_config = ConfigDict(json_schema_extra=_or_steps_alone)
    steps: tuple[StepCall, ...] = ()
    person: Person | None = None
    starts: Annotated[Literal["agent", "person"], Field(description="who has the initiative")] = "agent"
    max_turns: Annotated[Whole, Field(ge=1, le=10_000, description="replies of the agent before it ends")] = 50

    @model_validator(mode="before")
    @classmethod
    def _steps_alone(cls, value: Any) -> Any:
        return {"steps": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _opens_if_it_starts(self) -> "Scenario":
        if self.starts == "person" and (self.person is None or self.person.opening is None):
            raise ValueError("`starts: person` needs a person with an `opening`")
        return self
