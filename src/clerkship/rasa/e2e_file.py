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

    events: Annotated[tuple[dict[str, JsonValue], ...], Field(description="as a tracker has them")] = ()
    responses: Annotated[tuple[dict[str, JsonValue], ...], Field(description="what is said, each a map")] = ()


class E2eStep(Frozen):
    """A line of the user with its assertions; or, without assertions, one expected effect."""

    user: Annotated[str | None, Field(min_length=1, description="what the user says")] = None
    metadata: Annotated[
        str | None, Field(description="of a `user` step: what is sent along, by name; goes over the test case's")
    ] = None
    assertions: Annotated[
        tuple[AssertionCall, ...] | None, Field(description="of a `user` step: checked on what happened in its turn")
    ] = None
    assertion_order_enabled: Annotated[
        Flag, Field(description="whether what they assert must have happened in their order")
    ] = False
    bot: Annotated[str | None, Field(min_length=1, description="the agent says exactly this")] = None
    utter: Annotated[str | None, Field(min_length=1, description="the agent says the response of this name")] = None
    slot_was_set: LegacySlots | None = None
    slot_was_not_set: LegacySlots | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> "E2eStep":
        said = [kind for kind in _STEP_KINDS if kind in self.model_fields_set]
        if len(said) != 1 or getattr(self, said[0]) is None:
            raise ValueError(f"expected one of {', '.join(f'`{kind}`' for kind in _STEP_KINDS)}")
        astray = [key for key in _USER_STEP_KEYS if key in self.model_fields_set]
        if self.user is None and astray:
            raise ValueError(f"`{astray[0]}` belongs to a `user` step")
        if "assertion_order_enabled" in self.model_fields_set and not self.assertions:
            raise ValueError("`assertion_order_enabled` without `assertions`: there is nothing to order")
        return self


class E2eCase(Frozen):
    """One conversation."""

    test_case: Annotated[str, Field(min_length=1, max_length=150, description="its name")]
    fixtures: Annotated[tuple[str, ...], Field(description="slots to be set before it, by name; the last wins")] = ()
    metadata: Annotated[str | None, Field(description="sent along with every line of the user, by name")] = None
    steps: Annotated[tuple[E2eStep, ...], Field(min_length=1)]


class E2eFile(Frozen):
    """Test cases and what they share. A `conftest.yml` has everything but test cases, for files in its folder and
    below.
    """

    fixtures: Annotated[
        tuple[dict[FixtureName, tuple[dict[str, JsonValue], ...]], ...],
        Field(description="`{name: [{slot: value}, …]}`, each"),
    ] = ()
    metadata: Annotated[
        tuple[dict[MetadataName, dict[str, JsonValue]], ...], Field(description="`{name: {key: value}}`, each")
    ] = ()
    stub_custom_actions: Annotated[
        dict[StubName, ActionStub],
        Field(description="actions that are not run, by name; `test_name::action` goes over it in that test case"),
    ] = {}
    llm_judge: Annotated[
        dict[str, JsonValue] | None, Field(description="taken, and not used: a run says who judges")
    ] = None
    test_cases: tuple[E2eCase, ...] = ()
