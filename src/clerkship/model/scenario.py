"""A task's scenario: the steps that set the situation up, and the person in it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from clerkship.model.call import StepCall
from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.model.matcher import check_expected
from clerkship.model.pattern import compile_pattern

MAX_TURNS = 50
UNPLAYED = "the person has a simulation_context and no script, and people are not played by a model yet"
SCRIPT = "give them `setup.person`, with an `opening` or `lines`"
TURN_TIMEOUT = 60.0


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
    """When the person hears this, or this happens, they say that, or press a button."""

    when: Annotated[Regex | EventMatch, Field(description="a regex on what the agent said, or an event")]
    say: Annotated[
        str | tuple[str, ...] | None,
        Field(description="a line, or one line per use, the last repeating; null to stay silent and wait"),
    ] = None
    press: Annotated[
        Regex | None,
        Field(description="the button to press, by a regex on its title; the rule waits for a turn that has one"),
    ] = None
    times: Annotated[Whole | None, Field(ge=1, description="how often the rule may be used")] = None

    @model_validator(mode="after")
    def _something_to_say(self) -> "Rule":
        if self.say is not None if self.press is not None else "say" not in self.model_fields_set:
            raise ValueError("expected `say`, or `press` a button")
        if self.press is None and self.say is not None and not self.say:
            raise ValueError("`say` is empty; give it a line, or null to stay silent")
        if self.press is not None and not isinstance(self.when, str):
            raise ValueError("`press` goes with a `when` on what the agent said: an event has no buttons")
        return self


def _or_text(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    schema.clear()
    schema.update({"anyOf": [{"type": "string", "minLength": 1}, whole]})


class Line(Frozen):
    """A line that is said whatever the agent answers: text alone, or with what is sent along unseen."""

    model_config = ConfigDict(json_schema_extra=_or_text)
    say: Annotated[str, Field(min_length=1)]
    metadata: Annotated[dict[str, JsonValue] | None, Field(description="sent along with it, unseen")] = None

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, value: Any) -> Any:
        return {"say": value} if isinstance(value, str) else value


class EndRule(Frozen):
    """When the person has had enough."""

    when: Annotated[Regex | EventMatch | None, Field(description="what ends the conversation")] = None
    say: Annotated[str | None, Field(description="the person's last line")] = None
    after: Annotated[Whole | None, Field(ge=1, description="ends after this many lines of the person")] = None


class Person(Frozen):
    """A scripted person: an opening line, rules in order, a fallback, an end; or lines one after another. The same
    every time. One with a `simulation_context` and nothing else is played by a model."""

    name: str = "person"
    sandbox: Annotated[str | None, Field(description="where they talk; the only chat sandbox if there is one")] = None
    simulation_context: Annotated[str | None, Field(description="who they are and what they want, in plain words")] = (
        None
    )
    opening: Annotated[str | None, Field(description="their first line; none if they wait to be spoken to")] = None
    lines: Annotated[
        tuple[Line, ...],
        Field(description="said one after another where no rule fits, whatever the agent answers; then they hang up"),
    ] = ()
    script: tuple[Rule, ...] = ()
    fallback: Annotated[str | None, Field(description="said when no rule fits; without it they hang up")] = None
    end: EndRule = EndRule()

    @property
    def is_scripted(self) -> bool:
        """Whether all they say is written down."""
        return self.simulation_context is None or bool(self.opening is not None or self.lines or self.script)

    @property
    def needs_model(self) -> bool:
        """Whether somebody must make up what they say."""
        return not self.is_scripted

    @property
    def first_line(self) -> str | None:
        """What they begin with, where that is written down."""
        return self.opening if self.opening is not None or not self.lines else self.lines[0].say

    @property
    def begins(self) -> bool:
        """Whether they can say a first line of their own."""
        return self.first_line is not None or not self.is_scripted


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
    max_turns: Annotated[
        Whole | None, Field(ge=1, le=10_000, description="replies of the agent before it ends; 50, or as the run says")
    ] = None
    turn_timeout: Annotated[
        Number | None, Field(gt=0, le=86_400, description="wall seconds for one answer; 60, or as the run says")
    ] = None
    initial_slots: Annotated[
        dict[str, JsonValue], Field(description="what the agent holds true before the conversation begins")
    ] = {}
    stubs: Annotated[
        dict[str, JsonValue], Field(description="actions of the agent that are not to be run, and what to use instead")
    ] = {}

    @model_validator(mode="before")
    @classmethod
    def _steps_alone(cls, value: Any) -> Any:
        return {"steps": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _opens_if_it_starts(self) -> "Scenario":
        if self.starts == "person" and (self.person is None or not self.person.begins):
            raise ValueError("`starts: person` needs a person with an `opening` or `lines`")
        return self
