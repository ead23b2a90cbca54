"""A task's scenario: the steps that set the situation up, and the people in it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from clerkship.model.call import StepCall
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.model.matcher import check_expected
from clerkship.model.pattern import Regex
from clerkship.model.persona import Persona

DEFAULT_MAX_TURNS = 50
DEFAULT_TURN_TIMEOUT = 60.0
DEFAULT_LANGUAGE = "English"

Expected = Annotated[JsonValue, AfterValidator(check_expected)]
Where = Annotated[dict[str, Expected], Field(description="dotted path in the payload -> literal or matcher")]


Actor = Literal["agent", "person", "scenario", "reaction", "run"]


class EventMatch(Frozen):
    """A condition on events: a kind (`*` allowed), and values of the payload."""

    event: Annotated[str, Field(min_length=1, description="event kind, such as files.file.written or files.*")]
    where: Where = {}
    sandbox: Annotated[str | None, Field(description="where it happened; anywhere if not given")] = None
    actor: Annotated[Actor | None, Field(description="who did it; anybody if not given")] = None


class Improvisation(Frozen):
    """Words that a model improvises, with or without a hint for this turn."""

    improvise: Annotated[
        Annotated[str, Field(min_length=1)] | Literal[True],
        Field(description="what to do in this turn; true to leave it to them"),
    ]

    @property
    def hint(self) -> str:
        """The hint for this turn; empty if there is none."""
        return "" if self.improvise is True else self.improvise


_ImproviseKey = Annotated[
    Annotated[str, Field(min_length=1)] | Literal[True] | None,
    Field(description="have a model say something fitting: a hint what to do, or true to leave it to them"),
]
_PressKey = Annotated[Regex | None, Field(description="the button to press, by a regex on its title")]
_InterruptKey = Annotated[
    Annotated[str, Field(min_length=1)] | Improvisation | None,
    Field(description="said without waiting for the answer to what was said before it; then they wait for both"),
]
_GoSilentKey = Annotated[
    Duration | None,
    Field(description="say nothing for so long in simulated time, then go on; gone for good if nothing follows"),
]


class ScriptRule(Frozen):
    """A rule of a script: when the agent says this, or this event happens, the person says that or presses a button."""

    when: Annotated[Regex | EventMatch, Field(description="a regex on what the agent said, or an event")]
    say: Annotated[
        str | tuple[str, ...] | None,
        Field(description="a line, or one line per use, the last repeating; null to stay silent and wait"),
    ] = None
    improvise: _ImproviseKey = None
    press: Annotated[
        Regex | None,
        Field(description="the button to press, by a regex on its title; the rule waits for a turn that has one"),
    ] = None
    go_silent: _GoSilentKey = None
    interrupt: _InterruptKey = None
    times: Annotated[Whole | None, Field(ge=1, description="how often the rule may be used")] = None

    @property
    def improvises(self) -> bool:
        """Whether a model must improvise something."""
        return self.improvise is not None or type(self.interrupt) is Improvisation  # isinstance is slow for models

    @model_validator(mode="after")
    def _something_to_say(self) -> "ScriptRule":
        doing = [key for key in ("say", "improvise", "press") if getattr(self, key) is not None]
        if len(doing) > 1 or not (doing or self.go_silent is not None or "say" in self.model_fields_set):
            raise ValueError("expected `say`, or `press` a button, or `improvise`, or `go_silent`")
        if "say" in doing and not self.say:
            raise ValueError("`say` is empty; give it a line, or null to stay silent")
        if self.press is not None and not isinstance(self.when, str):
            raise ValueError("`press` goes with a `when` on what the agent said: an event has no buttons")
        if self.interrupt is not None and not doing:
            raise ValueError("`interrupt` comes on top of something that is said: give `say`, `improvise` or `press`")
        return self


def allow_text_in_schema(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of a model accept text in its place."""
    whole = dict(schema)
    schema.clear()
    schema.update({"anyOf": [{"type": "string", "minLength": 1}, whole]})


_ACTION_KEYS = ("say", "improvise", "press", "interrupt", "go_silent")


class ScriptLine(Frozen):
    """What the person does in one turn, whatever the agent answers: a text, with metadata or without, or another
    action.
    """

    model_config = ConfigDict(json_schema_extra=allow_text_in_schema)
    say: Annotated[str | None, Field(min_length=1)] = None
    metadata: Annotated[dict[str, JsonValue] | None, Field(description="sent along with it, unseen")] = None
    improvise: _ImproviseKey = None
    press: _PressKey = None
    interrupt: _InterruptKey = None
    go_silent: _GoSilentKey = None

    @property
    def improvises(self) -> bool:
        """Whether a model must improvise something."""
        return self.improvise is not None or type(self.interrupt) is Improvisation  # isinstance is slow for models

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, value: Any) -> Any:
        return {"say": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> "ScriptLine":
        doing = [key for key in _ACTION_KEYS if getattr(self, key) is not None]
        if len(doing) != 1:
            raise ValueError("expected one of `say`, `improvise`, `press`, `interrupt` and `go_silent`")
        if self.metadata is not None and self.go_silent is not None:
            raise ValueError("`metadata` goes with something that is said")
        return self


class EndRule(Frozen):
    """When the person ends the conversation."""

    when: Annotated[Regex | EventMatch | None, Field(description="what ends the conversation")] = None
    say: Annotated[str | None, Field(description="the person's last line")] = None
    after: Annotated[Whole | None, Field(ge=1, description="ends after this many lines of the person")] = None


class PersonVariant(Frozen):
    """Changes to a person in some trials. Each key that is given replaces the person's key as a whole."""

    opening: Annotated[str | Improvisation | None, Field(description="their first line")] = None
    lines: Annotated[tuple[ScriptLine, ...] | None, Field(description="said one after another where no rule fits")] = (
        None
    )
    script: tuple[ScriptRule, ...] | None = None
    fallback: Annotated[str | Improvisation | None, Field(description="said when no rule fits")] = None
    end: EndRule | None = None


class ScenarioPerson(Frozen):
    """A simulated person. A scripted one has an opening, rules, a fallback and an end, or lines to say one after
    another,
    and says the same every time. One with a `simulation_context` and no words of their own is played by a model.
    """

    name: str = "person"
    sandbox: Annotated[str | None, Field(description="where they talk; the only chat sandbox if there is one")] = None
    simulation_context: Annotated[str | None, Field(description="who they are and what they want, in plain words")] = (
        None
    )
    persona: Annotated[str | Persona | None, Field(description="how they are: the name of a persona, or one")] = None
    language: Annotated[str | None, Field(description="what they speak; as their persona does, or English")] = None
    opening: Annotated[
        str | Improvisation | None,
        Field(description="their first line, with `starts: person`; none if they wait to be spoken to"),
    ] = None
    lines: Annotated[
        tuple[ScriptLine, ...],
        Field(description="said one after another where no rule fits, whatever the agent answers; then they hang up"),
    ] = ()
    script: tuple[ScriptRule, ...] = ()
    fallback: Annotated[
        str | Improvisation | None, Field(description="said when no rule fits; without it they hang up")
    ] = None
    end: EndRule = EndRule()
    by_trial: Annotated[
        tuple[PersonVariant, ...],
        Field(description="what differs in each trial: trial 1 has the first, 2 the second; after the last, the first"),
    ] = ()
    never_says: Annotated[
        tuple[Regex, ...], Field(description="regular expressions on what a model may not have them say")
    ] = ()
    may_invent: Annotated[
        Flag, Field(description="whether a model may have them make up numbers, dates and addresses")
    ] = False
    min_turns: Annotated[
        Whole, Field(ge=1, le=10_000, description="answers to played lines before a model may have them leave")
    ] = 1
    check: Annotated[
        Literal["rules", "model"],
        Field(description="how it is checked that a model kept to their role: by rules, or by a judge as well"),
    ] = "rules"

    def variant_number(self, trial: int) -> int | None:
        """Return the number of a trial's variant, from 1; None if the person is the same in every trial."""
        return (trial - 1) % len(self.by_trial) + 1 if self.by_trial else None

    def for_trial(self, trial: int) -> "ScenarioPerson":
        """Return the person with the variant of a trial applied."""
        number = self.variant_number(trial)
        if number is None:
            return self
        given = {key: value for key, value in dict(self.by_trial[number - 1]).items() if value is not None}
        return self.model_copy(update={"by_trial": (), **given})

    @property
    def variants(self) -> "tuple[ScenarioPerson, ...]":
        """The person with each variant applied; the person alone if there are no variants."""
        return tuple(self.for_trial(trial) for trial in range(1, len(self.by_trial) + 1)) or (self,)

    @property
    def is_played(self) -> bool:
        """Whether a model improvises every word; with variants, in every trial."""
        return self.simulation_context is not None and not any(variant._is_written for variant in self.variants)

    @property
    def _is_written(self) -> bool:
        return bool(self.opening is not None or self.lines or self.script or self.fallback is not None)

    @property
    def needs_model(self) -> bool:
        """Whether a model improvises any word; with variants, in some trial."""
        if self.by_trial:
            return any(variant.needs_model for variant in self.variants)
        parts: tuple[ScriptLine | ScriptRule, ...] = (*self.lines, *self.script)
        return (
            self.is_played
            or Improvisation in (type(self.opening), type(self.fallback))
            or any(part.improvises for part in parts)
        )

    @property
    def first_line(self) -> str | None:
        """The first line, if it is scripted."""
        if self.opening is not None or not self.lines:
            return self.opening if isinstance(self.opening, str) else None
        return self.lines[0].say

    @property
    def begins(self) -> bool:
        """Whether the person can speak first; with variants, in every trial."""
        if self.by_trial:
            return all(variant.begins for variant in self.variants)
        return self.opening is not None or bool(self.lines) or self.is_played

    @property
    def manner(self) -> Persona | None:
        """The persona; None if there is none, or only its name is known."""
        return self.persona if isinstance(self.persona, Persona) else None

    @property
    def speaks(self) -> str:
        """The language of the person: their own, their persona's, or English."""
        return self.language or (self.manner.language if self.manner is not None else None) or DEFAULT_LANGUAGE

    @model_validator(mode="after")
    def _has_something_to_interrupt(self) -> "ScenarioPerson":
        before: ScriptLine | str | Improvisation | None = self.opening
        for line in self.lines:
            if line.interrupt is not None and (
                before is None or (isinstance(before, ScriptLine) and before.go_silent is not None)
            ):
                raise ValueError("`interrupt` comes right after something that is said: put a line before it")
            before = line
        return self


def _allow_step_list_in_schema(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    schema.clear()
    schema.update({"anyOf": [whole, whole["properties"]["steps"]]})


class Scenario(Frozen):
    """Steps that run before the agent starts. A step with `at` runs while the agent works."""

    model_config = ConfigDict(json_schema_extra=_allow_step_list_in_schema)
    steps: tuple[StepCall, ...] = ()
    person: Annotated[ScenarioPerson | None, Field(description="the only person the agent talks to")] = None
    people: Annotated[
        tuple[ScenarioPerson, ...],
        Field(description="several people, each on a sandbox of their own; instead of `person`"),
    ] = ()
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

    @property
    def all_people(self) -> tuple[ScenarioPerson, ...]:
        """The people of the scenario, in the order of the file."""
        return self.people if self.person is None else (self.person,)

    @model_validator(mode="after")
    def _has_one_form(self) -> "Scenario":
        if self.person is not None and self.people:
            raise ValueError("`person` and `people` exclude each other: list all of them under `people`")
        return self

    @model_validator(mode="after")
    def _opens_if_it_starts(self) -> "Scenario":
        if self.starts == "person" and not any(person.begins for person in self.all_people):
            raise ValueError("`starts: person` needs a person with an `opening` or `lines`, or a `simulation_context`")
        return self

    @model_validator(mode="after")
    def _somebody_to_play(self) -> "Scenario":
        unknown = [each for each in self.all_people if each.simulation_context is None and each.persona is None]
        if any(person.needs_model for person in unknown):
            raise ValueError("to improvise, a model must know who they are: give the person a `simulation_context`")
        return self
