"""A scenario file: the simulated person, the starting state, and the goals. It is converted to a task."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from clerkship.model.call import ANY_OF, AssertionCall, StepCall, nested_calls
from clerkship.model.duration import Seconds
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.model.monitor_settings import MonitorSettings
from clerkship.model.persona import Persona
from clerkship.model.quality import Metrics, Votes, check_not_blank
from clerkship.model.scenario import Scenario, ScenarioPerson, allow_text_in_schema
from clerkship.model.task import Criterion, Task
from clerkship.model.variant import Variant, WrongSolution


class ScenarioSetup(Frozen):
    """The state before the conversation begins. Only `initial_slots` is part of the original format."""

    initial_slots: Annotated[dict[str, JsonValue], Field(description="slot values set before the first turn")] = {}
    person: Annotated[ScenarioPerson | None, Field(description="script and further settings of the person (ours)")] = (
        None
    )
    persona: Annotated[str | Persona | None, Field(description="name of a persona, or a persona (ours)")] = None
    steps: Annotated[tuple[StepCall, ...], Field(description="further steps, as in a task (ours)")] = ()
    max_turns: Annotated[
        Whole | None, Field(ge=1, le=10_000, description="replies of the agent before the conversation ends (ours)")
    ] = None
    turn_timeout: Annotated[Seconds | None, Field(gt=0, le=86_400, description="wall seconds per answer (ours)")] = None
    allow_inaction: Annotated[Flag, Field(description="whether an agent that does nothing may pass (ours)")] = False
    monitors: MonitorSettings = {}

    @model_validator(mode="after")
    def _check_persona(self) -> "ScenarioSetup":
        if self.persona is not None and self.person is not None and self.person.persona is not None:
            raise ValueError("`persona` is given here and in `person`: give it once")
        return self


class ExpectedToolCall(Frozen):
    """An expected call of a tool: its name, and optionally some of its arguments."""

    model_config = ConfigDict(json_schema_extra=allow_text_in_schema)
    tool_name: str
    arguments: dict[str, JsonValue] = {}

    @model_validator(mode="before")
    @classmethod
    def _parse_name(cls, value: Any) -> Any:
        return {"tool_name": value} if isinstance(value, str) else value


class ToolGroupEntry(Frozen):
    """One entry of a tool group: an expected call, or an option of the whole group."""

    tool_called: ExpectedToolCall | None = None
    ordered: Flag | None = None
    gate: Flag | None = None

    @model_validator(mode="after")
    def _check_one_key(self) -> "ToolGroupEntry":
        if len(self.model_fields_set) != 1:
            raise ValueError("expected one of `tool_called`, `ordered` and `gate`")
        return self


class ExpectedTool(Frozen):
    """A tool called at any time, or a group of tools called in one turn. It only fails the run if it gates."""

    tool_called: ExpectedToolCall | None = None
    tool_group: Annotated[tuple[ToolGroupEntry, ...] | None, Field(min_length=1)] = None
    gate: Flag = False

    @model_validator(mode="after")
    def _check_one_key(self) -> "ExpectedTool":
        if (self.tool_called is None) == (self.tool_group is None):
            raise ValueError("expected `tool_called` or `tool_group`")
        if self.tool_group is not None and not any(part.tool_called for part in self.tool_group):
            raise ValueError("`tool_group` needs at least one `tool_called`")
        return self

    def to_criterion(self) -> Criterion:
        if self.tool_called is not None:
            call = _build_call("tool_called", self.tool_called.model_dump())
            return _build_criterion(call, self.tool_called.tool_name, gate=self.gate)
        parts = self.tool_group or ()
        calls = [part.tool_called for part in parts if part.tool_called is not None]
        args: JsonValue = {
            "calls": [call.model_dump() for call in calls],
            "ordered": any(part.ordered for part in parts),
        }
        gate = self.gate or any(part.gate for part in parts)
        names = ", ".join(call.tool_name for call in calls)
        return _build_criterion(_build_call("tool_group", args), names, gate=gate)


def _build_call(name: str, args: JsonValue) -> AssertionCall:
    return AssertionCall.model_validate({name: args})


def _build_criterion(call: AssertionCall, names: str, *, gate: bool) -> Criterion:
    return Criterion(label=f"{call.name}({names})", assertion=call, gate=gate, weight=1.0 if gate else 0.0)


def _check_sentences(value: Any) -> Any:
    """Reject assertions among the sentences for a judge, once for all of them."""
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        raise ValueError("expected sentences for a judge; put assertions, such as `bot_uttered`, under `assertions`")
    return value


class Goals(Frozen):
    """What a good conversation looks like."""

    assertions: Annotated[
        tuple[AssertionCall, ...], Field(description="assertions, checked against the event history")
    ] = ()
    criteria: Annotated[
        tuple[Annotated[str, Field(min_length=1), AfterValidator(check_not_blank)], ...],
        BeforeValidator(_check_sentences),
        Field(description="required behaviour in plain language, judged by a model"),
    ] = ()
    expected_tools: Annotated[tuple[ExpectedTool, ...], Field(description="tools that should be called")] = ()
    votes: Annotated[
        Votes | None,
        Field(description="how often each criterion is judged, an odd number; the majority decides (ours)"),
    ] = None
    metrics: Annotated[
        Metrics, Field(description="further metrics for a model to rate; not part of the verdict (ours)")
    ] = ()

    def to_assertion(self, text: str) -> AssertionCall:
        """Return the assertion for one of the criteria."""
        return _build_call("judged", text if self.votes is None else {"statement": text, "votes": self.votes})


class ScenarioFile(Frozen):
    """One conversation with a simulated person."""

    name: Annotated[
        str, Field(max_length=200, description="a label for readers; the scenario is identified by its file name")
    ]
    simulation_context: Annotated[str, Field(description="who the person is and what they want, in plain language")]
    type: Annotated[str | None, Field(description="a label such as happy_path, which becomes a tag")] = None
    setup: ScenarioSetup = ScenarioSetup()
    goals: Annotated[Goals, Field(description="without goals, a run has a transcript and no verdict")] = Goals()
    tags: Annotated[tuple[str, ...], Field(description="labels to select and group by (ours)")] = ()
    timeout: Annotated[Seconds | None, Field(gt=0, le=86_400, description="wall seconds, or such as 1h (ours)")] = None
    environment: Annotated[str | None, Field(description="name of an environment in the same folder (ours)")] = None
    solution: Annotated[
        str | None, Field(description="Python file that `oracle` runs, relative to this file (ours)")
    ] = None
    wrong: Annotated[
        tuple[WrongSolution, ...],
        Field(description="wrong solutions, which `suite attack` runs; they must fail (ours)"),
    ] = ()
    ways: Annotated[
        tuple[Variant, ...],
        Field(description="other correct solutions, which `suite attack` runs; they must pass (ours)"),
    ] = ()

    def to_task(self, slug: str) -> Task:
        """Return the task for it. Every criterion gates."""
        setup, goals = self.setup, self.goals
        update: dict[str, Any] = {"simulation_context": self.simulation_context}
        update |= {"persona": setup.persona} if setup.persona is not None else {}
        person = (setup.person or ScenarioPerson()).model_copy(update=update)
        asserted = [Criterion(label=build_label(call), assertion=call, gate=True) for call in goals.assertions]
        judged = [Criterion(label=text, assertion=goals.to_assertion(text), gate=True) for text in goals.criteria]
        return Task(
            name=self.name or slug,
            scenario=Scenario(
                steps=setup.steps,
                person=person,
                starts="person",
                max_turns=setup.max_turns,
                turn_timeout=setup.turn_timeout,
                initial_slots=setup.initial_slots,
            ),
            criteria=(*asserted, *judged, *(tool.to_criterion() for tool in goals.expected_tools)),
            tags=(*((self.type,) if self.type else ()), *self.tags),
            timeout=self.timeout,
            metrics=goals.metrics,
            allow_inaction=setup.allow_inaction,
            monitors=setup.monitors,
            environment=self.environment,
            solution=self.solution,
            wrong=self.wrong,
            ways=self.ways,
        )


_ID_KEYS = ("flow_id", "flow_ids", "name", "tool_name", "skill_id", "block_id")
_TEXT_KEYS = ("utter_name", "text_matches", "utter_source")


def build_plain_label(call: AssertionCall) -> str:
    """Return an assertion's name and the ids in its arguments, as the original reports show it."""
    args = call.args
    if call.name == "sequencing":
        return call.name
    if call.name == ANY_OF:
        return f"{call.name}({', '.join(build_plain_label(nested) for _, nested in nested_calls(args))})"
    if isinstance(args, str):
        return f"{call.name}({args})"
    if isinstance(args, list):
        return f"{call.name}({', '.join(map(_describe_item, args))})"
    return _label_with(call.name, args, _ID_KEYS)


def build_label(call: AssertionCall) -> str:
    """Return the label that Clerkship shows: like the plain label, with texts, buttons or the number of steps."""
    args = call.args
    if call.name == "sequencing" and isinstance(args, list):
        return f"{call.name}({len(args)} step{'s' * (len(args) != 1)})"
    plain = build_plain_label(call)
    if plain == call.name:
        plain = _label_with(call.name, args, _TEXT_KEYS)
    buttons = args.get("buttons") if isinstance(args, dict) else None
    if plain == call.name and isinstance(buttons, list):
        titles = [f"[{button.get('title')}]" for button in buttons if isinstance(button, dict)]
        return f"{call.name}({' '.join(titles)})"
    return plain


def _label_with(name: str, args: JsonValue, keys: tuple[str, ...]) -> str:
    values = [args[key] for key in keys if key in args] if isinstance(args, dict) else []
    return f"{name}({', '.join(map(_join_values, values))})" if values else name


def _describe_item(item: JsonValue) -> str:
    if isinstance(item, dict) and "name" in item:
        at = " at end" if item.get("at") == "end" else ""
        return (f"{item['name']}={item['value']!r}" if "value" in item else str(item["name"])) + at
    return str(item)


def _join_values(part: JsonValue) -> str:
    return ", ".join(map(str, part)) if isinstance(part, list) else str(part)
