"""Labelled conversations: what was said and done, and whether each criterion holds. Judges are calibrated with them."""

from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from clerkship.model.frozen import Flag, Frozen, Whole

NonBlankText = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Label(Frozen):
    """Whether one criterion holds, according to a person."""

    criterion: Annotated[NonBlankText, Field(description="in plain language, as `goals.criteria` has it")]
    passed: Annotated[Flag, Field(description="whether it holds, by a person who has read the conversation")]
    note: Annotated[str, Field(description="why, for whoever reads it later; the judge does not see it")] = ""


class LabelledTurn(Frozen):
    """One message of the user, and what the agent then did and said."""

    user: Annotated[NonBlankText | None, Field(description="none where the agent goes on by itself")] = None
    agent: Annotated[tuple[NonBlankText, ...], Field(description="what it said: a text, or a list of them")] = ()
    events: Annotated[
        tuple[dict[str, JsonValue], ...],
        Field(description="what its system did, each a map with one key: `flow_started: check_order`"),
    ] = ()

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("agent"), str):
            return value | {"agent": [value["agent"]]}
        return value

    @model_validator(mode="after")
    def _something(self) -> "LabelledTurn":
        if self.user is None and not self.agent and not self.events:
            raise ValueError("nothing was said or done: give `user`, `agent` or `events`")
        return self


class LabelledConversation(Frozen):
    """One conversation with its labels: either written out in turns, or taken from a stored run."""

    name: Annotated[NonBlankText, Field(description="what it is called in the list of disagreements")]
    simulation_context: Annotated[
        str | None, Field(description="who the user was meant to be; the judge sees it, as in a run")
    ] = None
    turns: tuple[LabelledTurn, ...] = ()
    run: Annotated[str | None, Field(description="instead of `turns`: a run that is kept, by id or `latest`")] = None
    task: Annotated[str | None, Field(description="with `run`: the task's name, or a part of it")] = None
    trial: Annotated[Whole | None, Field(ge=1, description="with `run`: which repetition, 1 if not given")] = None
    labels: Annotated[tuple[Label, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_of_two(self) -> "LabelledConversation":
        if (self.run is None) == (not self.turns):
            raise ValueError("give `turns`, or `run` with its `task`: one of the two")
        if (self.run is None) != (self.task is None):
            raise ValueError("`run` and `task` go together")
        if self.run is None and self.trial is not None:
            raise ValueError("`trial` goes with `run` and `task`")
        if self.run is not None and self.simulation_context is not None:
            raise ValueError("`simulation_context` goes with `turns`; a kept run has its own")
        return self


class LabelledFile(Frozen):
    """A labelled set."""

    labelled: Annotated[
        tuple[LabelledConversation, ...], Field(min_length=1, description="conversations, each with its labels")
    ]
