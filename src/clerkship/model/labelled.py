"""Labelled conversations: what was said and done, and whether each criterion holds. Judges are calibrated with them."""

from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from clerkship.model.frozen import Flag, Frozen, Whole

NonBlankText = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Label(Frozen):
    """Whether one criterion holds, according to a person."""

    criterion: Annotated[NonBlankText, Field(description="criterion in plain language, as in `goals.criteria`")]
    passed: Annotated[Flag, Field(description="whether it holds, according to a person who read the conversation")]
    note: Annotated[str, Field(description="reason, for later readers; the judge does not see it")] = ""


class LabelledTurn(Frozen):
    """One message of the user, and what the agent then did and said."""

    user: Annotated[
        NonBlankText | None, Field(description="message of the user; none if the agent continues by itself")
    ] = None
    agent: Annotated[
        tuple[NonBlankText, ...], Field(description="messages of the agent: a text, or a list of texts")
    ] = ()
    events: Annotated[
        tuple[dict[str, JsonValue], ...],
        Field(description="events of the agent, each a map with one key: `flow_started: check_order`"),
    ] = ()

    @model_validator(mode="before")
    @classmethod
    def _parse_single_text(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("agent"), str):
            return value | {"agent": [value["agent"]]}
        return value

    @model_validator(mode="after")
    def _require_content(self) -> "LabelledTurn":
        if self.user is None and not self.agent and not self.events:
            raise ValueError("the turn is empty: give `user`, `agent` or `events`")
        return self


class LabelledConversation(Frozen):
    """One conversation with its labels: either written out in turns, or taken from a stored run."""

    name: Annotated[NonBlankText, Field(description="name in the list of disagreements")]
    simulation_context: Annotated[
        str | None, Field(description="description of the simulated user; the judge sees it, as in a run")
    ] = None
    turns: tuple[LabelledTurn, ...] = ()
    run: Annotated[str | None, Field(description="instead of `turns`: a stored run, by id or `latest`")] = None
    task: Annotated[str | None, Field(description="with `run`: name of the task, or a part of it")] = None
    trial: Annotated[Whole | None, Field(ge=1, description="with `run`: number of the trial; default: 1")] = None
    labels: Annotated[tuple[Label, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_source(self) -> "LabelledConversation":
        if (self.run is None) == (not self.turns):
            raise ValueError("give either `turns`, or `run` and `task`")
        if (self.run is None) != (self.task is None):
            raise ValueError("`run` and `task` must be given together")
        if self.run is None and self.trial is not None:
            raise ValueError("`trial` needs `run` and `task`")
        if self.run is not None and self.simulation_context is not None:
            raise ValueError("`simulation_context` needs `turns`; a stored run has its own")
        return self


class LabelledFile(Frozen):
    """A labelled set."""

    labelled: Annotated[
        tuple[LabelledConversation, ...], Field(min_length=1, description="conversations, each with its labels")
    ]
