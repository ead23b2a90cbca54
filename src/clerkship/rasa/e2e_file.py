"""Rasa's E2E test file: the user's lines, and what should follow from each. Each test case becomes a task."""

from typing import Annotated

from pydantic import Field, JsonValue, model_validator

from clerkship.model.call import AssertionCall
from clerkship.model.frozen import Flag, Frozen

FixtureName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]
MetadataName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
StubName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+(::[A-Za-z0-9_]+)?$")]
LegacySlots = Annotated[
    tuple[Annotated[str, Field(min_length=1)] | dict[str, JsonValue], ...],
    Field(min_length=1, description="names, or `{name: value}`"),
]
_STEP_KINDS = ("user", "bot", "utter", "slot_was_set", "slot_was_not_set")
_USER_STEP_KEYS = ("metadata", "assertions", "assertion_order_enabled")


class ActionStub(Frozen):
    """What to use instead of running an action."""

    events: Annotated[tuple[dict[str, JsonValue], ...], Field(description="events of the tracker")] = ()
    responses: Annotated[tuple[dict[str, JsonValue], ...], Field(description="responses of the agent, each a map")] = ()


class E2eStep(Frozen):
    """A line of the user with its assertions; or, without assertions, one expected effect."""

    user: Annotated[str | None, Field(min_length=1, description="what the user says")] = None
    metadata: Annotated[
        str | None, Field(description="of a `user` step: name of the metadata to send; overrides that of the test case")
    ] = None
    assertions: Annotated[
        tuple[AssertionCall, ...] | None, Field(description="of a `user` step: checked against the events of its turn")
    ] = None
    assertion_order_enabled: Annotated[
        Flag, Field(description="whether the asserted events must have happened in this order")
    ] = False
    bot: Annotated[str | None, Field(min_length=1, description="the agent says exactly this")] = None
    utter: Annotated[str | None, Field(min_length=1, description="the agent says the response with this name")] = None
    slot_was_set: LegacySlots | None = None
    slot_was_not_set: LegacySlots | None = None

    @model_validator(mode="after")
    def _check_one_kind(self) -> "E2eStep":
        kinds = [kind for kind in _STEP_KINDS if kind in self.model_fields_set]
        if len(kinds) > 1:
            raise ValueError(f"a step has one key, not {len(kinds)} ({', '.join(kinds)}); put `-` before each step")
        if not kinds or getattr(self, kinds[0]) is None:
            raise ValueError(f"expected one of {', '.join(f'`{kind}`' for kind in _STEP_KINDS)}")
        misplaced = [key for key in _USER_STEP_KEYS if key in self.model_fields_set]
        if self.user is None and misplaced:
            raise ValueError(f"`{misplaced[0]}` belongs to a `user` step")
        if "assertion_order_enabled" in self.model_fields_set and not self.assertions:
            raise ValueError("`assertion_order_enabled` needs `assertions`")
        return self


class E2eCase(Frozen):
    """One conversation."""

    test_case: Annotated[str, Field(min_length=1, description="name of the test case; cut after 150 characters")]
    fixtures: Annotated[
        tuple[str, ...],
        Field(description="names of fixtures, whose slots are set first; later ones override earlier ones"),
    ] = ()
    metadata: Annotated[str | None, Field(description="name of the metadata to send with every line of the user")] = (
        None
    )
    steps: Annotated[
        tuple[E2eStep, ...], Field(description="the conversation; without a `user` step, only its start is checked")
    ]


class E2eFile(Frozen):
    """Test cases and what they share. A `conftest.yml` has everything but test cases, for files in its folder and
    below.
    """

    fixtures: Annotated[
        tuple[dict[FixtureName, tuple[dict[str, JsonValue], ...]], ...],
        Field(description="items of the form `{name: [{slot: value}, …]}`"),
    ] = ()
    metadata: Annotated[
        tuple[dict[MetadataName, dict[str, JsonValue]], ...],
        Field(description="items of the form `{name: {key: value}}`"),
    ] = ()
    stub_custom_actions: Annotated[
        dict[StubName, ActionStub],
        Field(description="stubs of actions, by name; `test_name::action` applies to that test case only"),
    ] = {}
    llm_judge: Annotated[
        dict[str, JsonValue] | None, Field(description="accepted, but not used: the judge is set for a run")
    ] = None
    test_cases: tuple[E2eCase, ...] = ()
