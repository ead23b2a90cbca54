"""The format of a scripted representative: what they ask for, and how they answer."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from clerkship.formats.phone_tree.nodes import Prompt, ValueName
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen, Whole


class RepresentativeAnswer(Frozen):
    """How a representative answers one kind of question."""

    asks: Annotated[
        tuple[str, ...],
        Field(min_length=1, description="phrases of the caller; the answer with the most words in common is given"),
    ]
    hook: Annotated[str | None, Field(description="what is looked up or done, as in a phone tree")] = None
    arguments: dict[ValueName, str] = {}
    optional: Annotated[
        tuple[ValueName, ...],
        Field(description="further arguments of the hook, if the caller states them; they are not asked for"),
    ] = ()
    says: Annotated[
        Prompt | dict[ValueName, Prompt], Field(description="the answer, or the answer for each outcome of the hook")
    ]
    is_public: Annotated[Flag, Field(description="whether it is given to callers who are not verified")] = False
    ends_call: Flag = False
    transfers_to: Annotated[
        ValueName | None, Field(description="representative of the line to whom the caller is connected after it")
    ] = None

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.ends_call and self.transfers_to is not None:
            raise ValueError("expected only one of `ends_call` and `transfers_to`")
        return self


class RepresentativeScript(Frozen):
    """A representative of a line who follows a script."""

    name: str
    greeting: Prompt
    verify: Annotated[
        dict[ValueName, Prompt], Field(description="what the caller must state -> how the representative asks for it")
    ] = {}
    verify_hook: Annotated[str | None, Field(description="the hook that checks these values")] = None
    passed_on: Annotated[
        tuple[ValueName, ...],
        Field(description="values of `verify` that are not asked for if the phone tree has collected them"),
    ] = ()
    max_verifications: Annotated[Whole, Field(ge=1, le=10)] = 3
    verified: Prompt = "Thank you. How can I help you?"
    not_verified: Prompt = "I'm sorry, that does not match what we have on file."
    answers: Annotated[tuple[RepresentativeAnswer, ...], Field(max_length=100)]
    fallback: Prompt = "I'm sorry, I can't help with that."
    no_transfer: Annotated[
        Prompt, Field(description="what they say to a caller who asks for another person, if no answer is about that")
    ] = "I'm sorry, I can't transfer you from here. I can help you with what I have on file."
    silence: Prompt = "Hello, are you still there?"
    patience: Annotated[Duration, Field(description="how long they wait for the caller to speak")] = timedelta(
        seconds=15
    )
    goodbye: Prompt = "Thank you for calling. Goodbye."

    @property
    def patience_seconds(self) -> float:
        """How long they wait for the caller, at least a second."""
        return max(self.patience.total_seconds(), 1.0)

    @model_validator(mode="after")
    def _check_passed_on(self) -> Self:
        for name in self.passed_on:
            if name not in self.verify:
                known = ", ".join(self.verify) or "none"
                raise ValueError(f"passed_on: `{name}` is not a value of `verify` (expected: {known})")
        return self
