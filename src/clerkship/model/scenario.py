"""A task's scenario: the steps that set the situation up, and the people in it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from clerkship.model.call import StepCall
from clerkship.model.closed import PERSON_TOOL
from clerkship.model.conversation_key import ADDRESS_FORMS, PHONE_CHANNELS, PersonChannel, is_address
from clerkship.model.duration import Duration, Seconds
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.model.matcher import check_expected
from clerkship.model.pattern import Regex
from clerkship.model.persona import Persona
from clerkship.model.run_options import PersonFacts

DEFAULT_LANGUAGE = "English"

Expected = Annotated[JsonValue, AfterValidator(check_expected)]
Where = Annotated[dict[str, Expected], Field(description="literals or matchers by dotted path in the payload")]


Actor = Literal["agent", "person", "scenario", "reaction", "system", "run"]


class EventMatch(Frozen):
    """A condition on events: a kind (`*` allowed), and values of the payload."""

    event: Annotated[str, Field(min_length=1, description="kind of event, such as files.file.written or files.*")]
    where: Where = {}
    sandbox: Annotated[str | None, Field(description="sandbox of the event; default: any")] = None
    actor: Annotated[Actor | None, Field(description="who caused the event; default: any")] = None


class Improvisation(Frozen):
    """Words that a model improvises, with or without a hint for this turn."""

    improvise: Annotated[
        Annotated[str, Field(min_length=1)] | Literal[True],
        Field(description="hint what to do in this turn; true for no hint"),
    ]

    @property
    def hint(self) -> str:
        """The hint for this turn; empty if there is none."""
        return "" if self.improvise is True else self.improvise


_ImproviseKey = Annotated[
    Annotated[str, Field(min_length=1)] | Literal[True] | None,
    Field(description="let a model choose the words: a hint what to do, or true for no hint"),
]
_PressKey = Annotated[Regex | None, Field(description="the button to press, by a regex on its title")]
_InterruptKey = Annotated[
    Annotated[str, Field(min_length=1)] | Improvisation | None,
    Field(description="a message sent before the answer to the previous one has come; then they wait for both answers"),
]
_GoSilentKey = Annotated[
    Duration | None,
    Field(
        description="say nothing for this long in simulated time, then continue; if nothing follows, the person is gone"
    ),
]


def allow_text_in_schema(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of a model accept text in its place."""
    whole = dict(schema)
    schema.clear()
    schema.update({"anyOf": [{"type": "string", "minLength": 1}, whole]})


class PersonToolUse(Frozen):
    """A tool that a person uses. Text is the name of a tool that needs no arguments."""

    model_config = ConfigDict(json_schema_extra=allow_text_in_schema)
    name: Annotated[str, PERSON_TOOL, Field(min_length=1, description="one of their `tools`")]
    arguments: Annotated[dict[str, JsonValue], Field(description="its arguments, by name")] = {}

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


_UseKey = Annotated[
    PersonToolUse | None,
    Field(description="the tool that they use before they say this; `{result}` in what they say is its result"),
]


class ScriptRule(Frozen):
    """A rule of a script: when the agent says this, or this event happens, the person says that or presses a button."""

    when: Annotated[Regex | EventMatch, Field(description="a regex on what the agent said, or an event")]
    say: Annotated[
        str | tuple[str, ...] | None,
        Field(description="a line, or a list of lines to say one per use, the last repeating; null to wait in silence"),
    ] = None
    improvise: _ImproviseKey = None
    press: Annotated[
        Regex | None,
        Field(
            description="the button to press, by a regex on its title; the rule only applies if there is such a button"
        ),
    ] = None
    go_silent: _GoSilentKey = None
    interrupt: _InterruptKey = None
    use: _UseKey = None
    times: Annotated[Whole | None, Field(ge=1, description="how often the rule may be used; default: always")] = None

    @property
    def improvises(self) -> bool:
        """Whether a model must improvise something."""
        return self.improvise is not None or type(self.interrupt) is Improvisation  # isinstance is slow for models

    @model_validator(mode="after")
    def _check_action(self) -> "ScriptRule":
        actions = [key for key in ("say", "improvise", "press") if getattr(self, key) is not None]
        if len(actions) > 1 or not (actions or self.go_silent is not None or "say" in self.model_fields_set):
            raise ValueError("expected one of `say`, `press`, `improvise` and `go_silent`")
        if "say" in actions and not self.say:
            raise ValueError("`say` is empty; give it a line, or null to stay silent")
        if self.press is not None and not isinstance(self.when, str):
            raise ValueError("`press` needs a regex in `when`: an event has no buttons")
        if self.interrupt is not None and not actions:
            raise ValueError("`interrupt` needs a message to interrupt: give `say`, `improvise` or `press`")
        _check_use(self)
        return self


_ACTION_KEYS = ("say", "improvise", "press", "interrupt", "go_silent")


class ScriptLine(Frozen):
    """What the person does in one turn, whatever the agent answers: a text, with metadata or without, or another
    action.
    """

    model_config = ConfigDict(json_schema_extra=allow_text_in_schema)
    say: Annotated[str | None, Field(min_length=1)] = None
    metadata: Annotated[dict[str, JsonValue] | None, Field(description="sent with the message, not visible in it")] = (
        None
    )
    improvise: _ImproviseKey = None
    press: _PressKey = None
    interrupt: _InterruptKey = None
    go_silent: _GoSilentKey = None
    use: _UseKey = None

    @property
    def improvises(self) -> bool:
        """Whether a model must improvise something."""
        return self.improvise is not None or type(self.interrupt) is Improvisation  # isinstance is slow for models

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, value: Any) -> Any:
        return {"say": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_action(self) -> "ScriptLine":
        actions = [key for key in _ACTION_KEYS if getattr(self, key) is not None]
        if len(actions) != 1:
            raise ValueError("expected one of `say`, `improvise`, `press`, `interrupt` and `go_silent`")
        if self.metadata is not None and self.go_silent is not None:
            raise ValueError("`metadata` needs a message: it cannot be sent with `go_silent`")
        _check_use(self)
        return self


def _check_use(part: ScriptRule | ScriptLine) -> None:
    if part.use is not None and part.say is None and part.improvise is None:
        raise ValueError("`use` needs a message that follows: give `say` or `improvise`")


class EndRule(Frozen):
    """When the person ends the conversation."""

    when: Annotated[Regex | EventMatch | None, Field(description="a regex on what the agent said, or an event")] = None
    say: Annotated[str | None, Field(description="the person's last line")] = None
    after: Annotated[Whole | None, Field(ge=1, description="end after this many messages of the person")] = None


class PersonVariant(Frozen):
    """Changes to a person in some trials. Each key that is given replaces the person's key as a whole."""

    opening: Annotated[str | Improvisation | None, Field(description="their first line")] = None
    lines: Annotated[
        tuple[ScriptLine, ...] | None, Field(description="said one after another when no rule applies")
    ] = None
    script: tuple[ScriptRule, ...] | None = None
    fallback: Annotated[str | Improvisation | None, Field(description="said when no rule applies")] = None
    end: EndRule | None = None


class ScenarioPerson(Frozen):
    """A simulated person. A scripted one has an opening, rules, a fallback and an end, or lines to say one after
    another, and says the same every time. One with a `simulation_context` and no words of their own is played by a
    model.
    """

    name: str = "person"
    sandbox: Annotated[str | None, Field(description="sandbox of the conversation; default: the only chat sandbox")] = (
        None
    )
    channel: Annotated[
        PersonChannel | None,
        Field(description="how they write or call, on a sandbox for messages or phone calls; none on a chat"),
    ] = None
    address: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=254,
            description="where they are reached on the channel: a phone number, an e-mail address, or `Patient/…`",
        ),
    ] = None
    subject: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="subject of the first e-mail or message in the patient portal that they write",
        ),
    ] = None
    answers_after: Annotated[
        Duration | None, Field(description="simulated time until they read and answer a message; none: at once")
    ] = None
    simulation_context: Annotated[str | None, Field(description="who they are and what they want, in plain words")] = (
        None
    )
    persona: Annotated[str | Persona | None, Field(description="name of a persona, or a persona")] = None
    language: Annotated[str | None, Field(description="language they speak; default: their persona's, or English")] = (
        None
    )
    tools: Annotated[
        tuple[Annotated[str, PERSON_TOOL], ...],
        Field(description="functions of the sandboxes that they may use, such as switches of their own telephone"),
    ] = ()
    opening: Annotated[
        str | Improvisation | None,
        Field(
            description="their first line, with `starts: person`; none if they wait for the agent. On the phone also "
            "what they say when they first answer a call"
        ),
    ] = None
    lines: Annotated[
        tuple[ScriptLine, ...],
        Field(description="said one after another when no rule applies, whatever the agent answers; then they hang up"),
    ] = ()
    script: tuple[ScriptRule, ...] = ()
    fallback: Annotated[
        str | Improvisation | None, Field(description="said when no rule applies; without it they hang up")
    ] = None
    end: EndRule = EndRule()
    by_trial: Annotated[
        tuple[PersonVariant, ...],
        Field(
            description="variants by trial: trial 1 has the first, trial 2 the second; after the last, the first again"
        ),
    ] = ()
    never_says: Annotated[
        tuple[Regex, ...], Field(description="regular expressions that nothing a model says for them may match")
    ] = ()
    facts: Annotated[
        PersonFacts | None,
        Field(
            description="`strict`: a model that plays them makes up no numbers, dates and addresses; `free`: it may; "
            "none: as their persona, or as the run"
        ),
    ] = None
    may_invent: Annotated[
        Flag, Field(description="older form of `facts`: true for `free`, false for `strict`; `facts` wins")
    ] = False
    min_turns: Annotated[
        Whole,
        Field(
            ge=1, le=10_000, description="answers of the agent before a model that plays them may end the conversation"
        ),
    ] = 1
    check: Annotated[
        Literal["rules", "model"],
        Field(description="how to check that a model stays in their role: by rules, or also by a judge"),
    ] = "rules"

    def variant_number(self, trial: int) -> int | None:
        """Return the number of a trial's variant, from 1; None if the person is the same in every trial."""
        return (trial - 1) % len(self.by_trial) + 1 if self.by_trial else None

    def for_trial(self, trial: int) -> "ScenarioPerson":
        """Return the person with the variant of a trial applied."""
        number = self.variant_number(trial)
        if number is None:
            return self
        changes = {key: value for key, value in dict(self.by_trial[number - 1]).items() if value is not None}
        return self.model_copy(update={"by_trial": (), **changes})

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
    def says_one_line(self) -> bool:
        """Whether they say one line and then hang up, whatever the agent answers; with variants, in every trial."""
        return not self.is_played and all(
            (variant.opening is not None) + len(variant.lines) <= 1 and not variant.script and variant.fallback is None
            for variant in self.variants
        )

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
    def can_begin(self) -> bool:
        """Whether the person can speak first; with variants, in every trial."""
        if self.by_trial:
            return all(variant.can_begin for variant in self.variants)
        return self.opening is not None or bool(self.lines) or self.is_played

    @property
    def resolved_persona(self) -> Persona | None:
        """The persona; None if there is none, or only its name is known."""
        return self.persona if isinstance(self.persona, Persona) else None

    @property
    def stated_facts(self) -> PersonFacts | None:
        """What the file says by `facts` or `may_invent` of the person, or else of their persona; None if nothing."""
        persona = self.resolved_persona
        if self.facts is None and "may_invent" in self.model_fields_set:
            return "free" if self.may_invent else "strict"
        return self.facts if self.facts is not None or persona is None else persona.stated_facts

    @property
    def may_make_up_facts(self) -> bool:
        """Whether a model that plays them may make up facts.

        A run sets `facts` of each person that a model plays. A run that was stored before has only `may_invent`.
        """
        if self.facts is not None:
            return self.facts == "free"
        return self.may_invent or (self.resolved_persona is not None and self.resolved_persona.may_invent)

    def with_default_facts(self, facts: PersonFacts) -> "ScenarioPerson":
        """Return the person with `facts` set, if a model improvises any word: the given value if the file has none."""
        if not self.needs_model:
            return self
        return self.model_copy(update={"facts": self.stated_facts or facts})

    @property
    def spoken_language(self) -> str:
        """The language of the person: their own, their persona's, or English."""
        return (
            self.language
            or (self.resolved_persona.language if self.resolved_persona is not None else None)
            or DEFAULT_LANGUAGE
        )

    @model_validator(mode="after")
    def _check_channel(self) -> "ScenarioPerson":
        if self.channel is None:
            given = [key for key in ("address", "subject", "answers_after") if getattr(self, key) is not None]
            if given:
                raise ValueError(f"`{given[0]}` needs a `channel`: sms, email, portal or phone")
            return self
        if self.address is None:
            raise ValueError(f"a person on {self.channel} needs an `address`: {ADDRESS_FORMS[self.channel]}")
        is_complete = "{{" not in self.address and "${" not in self.address
        if is_complete and not is_address(self.channel, self.address):
            raise ValueError(f"`address` is not {ADDRESS_FORMS[self.channel]}: {self.address[:80]!r}")
        if self.subject is not None and self.channel in PHONE_CHANNELS:
            raise ValueError(
                f"`subject` has no effect on {self.channel}: only e-mail and messages in the patient portal have one"
            )
        if self.subject is None and self.channel not in PHONE_CHANNELS and self.can_begin:
            raise ValueError(f"a person who may write first on {self.channel} needs a `subject`")
        return self

    @model_validator(mode="after")
    def _check_tools(self) -> "ScenarioPerson":
        uses = [part.use for variant in self.variants for part in variant.script]
        uses += [part.use for variant in self.variants for part in variant.lines]
        missing = [use.name for use in uses if use is not None and use.name not in self.tools]
        if missing:
            raise ValueError(f"they use `{missing[0][:80]}`, which is not one of their `tools`")
        return self

    @model_validator(mode="after")
    def _check_interrupts(self) -> "ScenarioPerson":
        previous: ScriptLine | str | Improvisation | None = self.opening
        for line in self.lines:
            if line.interrupt is not None and (
                previous is None or (isinstance(previous, ScriptLine) and previous.go_silent is not None)
            ):
                raise ValueError("`interrupt` must follow a message: put a line before it")
            previous = line
        return self


def _allow_step_list_in_schema(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    schema.clear()
    schema.update({"anyOf": [whole, whole["properties"]["steps"]]})


class Scenario(Frozen):
    """Steps that run before the agent starts. A step with `at` runs while the agent works."""

    model_config = ConfigDict(json_schema_extra=_allow_step_list_in_schema)
    steps: tuple[StepCall, ...] = ()
    person: Annotated[ScenarioPerson | None, Field(description="the person, if there is only one")] = None
    people: Annotated[
        tuple[ScenarioPerson, ...],
        Field(description="several people, each on their own sandbox; instead of `person`"),
    ] = ()
    starts: Annotated[Literal["agent", "person"], Field(description="who speaks or acts first")] = "agent"
    max_turns: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=10_000,
            description="replies of the agent before the conversation ends; default: 50, or as the run sets it",
        ),
    ] = None
    turn_timeout: Annotated[
        Seconds | None,
        Field(
            gt=0,
            le=86_400,
            description="for one answer: wall seconds, or 2m; default: 60, or as the run sets it",
        ),
    ] = None
    initial_slots: Annotated[
        dict[str, JsonValue], Field(description="slot values set before the conversation begins")
    ] = {}
    stubs: Annotated[
        dict[str, JsonValue], Field(description="replacements for actions of the agent, which are then not run")
    ] = {}

    @model_validator(mode="before")
    @classmethod
    def _parse_step_list(cls, value: Any) -> Any:
        return {"steps": value} if isinstance(value, list) else value

    @property
    def all_people(self) -> tuple[ScenarioPerson, ...]:
        """The people of the scenario, in the order of the file."""
        return self.people if self.person is None else (self.person,)

    @property
    def has_one_turn(self) -> bool:
        """Whether the conversation has at most one turn: by its limit, or because each person says one line."""
        return self.max_turns == 1 or all(person.says_one_line for person in self.all_people)

    @model_validator(mode="after")
    def _check_people_keys(self) -> "Scenario":
        if self.person is not None and self.people:
            raise ValueError("`person` and `people` cannot be used together: list all of them under `people`")
        return self

    @model_validator(mode="after")
    def _check_opening(self) -> "Scenario":
        if self.starts == "person" and not any(person.can_begin for person in self.all_people):
            raise ValueError("`starts: person` needs a person with an `opening` or `lines`, or a `simulation_context`")
        return self

    @model_validator(mode="after")
    def _check_context(self) -> "Scenario":
        undescribed = [p for p in self.all_people if p.simulation_context is None and p.persona is None]
        if any(person.needs_model for person in undescribed):
            raise ValueError("a model that improvises needs a description: give the person a `simulation_context`")
        return self
