"""Cards, suggestions and actions: what a CDS service answers."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from clerkship.formats.cds_hooks.drugs import Indicator
from clerkship.formats.cds_hooks.hooks import is_reference
from clerkship.formats.cds_hooks.wire_model import CdsCoding, Extension, Text, WireModel
from clerkship.model.frozen import Flag

SelectionBehavior = Literal["at-most-one", "any"]
ActionType = Literal["create", "update", "delete"]
LinkType = Literal["absolute", "smart"]
MAX_SUMMARY = 140
"""The specification wants fewer characters than this in a summary."""
_ABSOLUTE_URL = re.compile(r"https?://[^\s/?#]+", re.IGNORECASE)


def _check_url(text: str) -> str:
    if not _ABSOLUTE_URL.match(text):
        raise PydanticCustomError("url", "expected an absolute URL with http or https")
    return text


AbsoluteUrl = Annotated[Text, AfterValidator(_check_url)]


class SuggestedAction(WireModel):
    """A change to the chart. An update has the whole resource, not only what changes."""

    type: ActionType
    description: Text | None = None
    """Required in a suggestion. The specification's own system actions have none, so it is optional there."""
    resource: dict[str, Any] | None = None
    resource_id: Annotated[Text | None, Field(description="what a delete removes, such as ServiceRequest/123")] = None
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_resource(self) -> Self:
        if self.type == "delete":
            if not is_reference(self.resource_id):
                raise PydanticCustomError("action-resource", "a delete needs a resourceId, such as ServiceRequest/123")
        elif self.resource is None:
            raise PydanticCustomError("action-resource", f"a {self.type} needs a resource")
        elif not isinstance(self.resource.get("resourceType"), str):
            raise PydanticCustomError("action-resource", "the resource has no resourceType")
        elif self.type == "update" and not is_reference(self.target):
            raise PydanticCustomError("action-resource", "an update needs a resource with an id")
        return self

    @property
    def target(self) -> str | None:
        """The resource that the action changes, such as `ServiceRequest/123`; None for a create without an id."""
        if self.resource_id is not None:
            return self.resource_id
        resource = self.resource or {}
        id = resource.get("id")
        return f"{resource.get('resourceType')}/{id}" if id else None


class Suggestion(WireModel):
    """Actions that the user may accept together, with one button."""

    label: Text
    uuid: Text | None = None
    is_recommended: Flag = False
    actions: tuple[SuggestedAction, ...] = ()
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_actions(self) -> Self:
        if any(action.description is None for action in self.actions):
            raise PydanticCustomError("action-description", "each action of a suggestion needs a description")
        return self


class CardSource(WireModel):
    """Where the advice of a card comes from."""

    label: Text
    url: AbsoluteUrl | None = None
    icon: AbsoluteUrl | None = None
    topic: CdsCoding | None = None
    extension: Extension | None = None


class CardLink(WireModel):
    """A page to open, or a SMART app to launch."""

    label: Text
    url: AbsoluteUrl
    type: LinkType
    app_context: Annotated[Text | None, Field(description="given to the SMART app at its launch")] = None
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_context(self) -> Self:
        if self.app_context is not None and self.type != "smart":
            raise PydanticCustomError("link-context", "appContext is only for links of type smart")
        return self


class Card(WireModel):
    """One piece of advice for the user of an EHR."""

    summary: Annotated[Text, Field(max_length=MAX_SUMMARY - 1)]
    indicator: Indicator
    source: CardSource
    uuid: Text | None = None
    detail: Annotated[Text | None, Field(description="more text, in GitHub Flavored Markdown")] = None
    suggestions: tuple[Suggestion, ...] = ()
    selection_behavior: SelectionBehavior | None = None
    override_reasons: tuple[CdsCoding, ...] = ()
    links: tuple[CardLink, ...] = ()
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_conditions(self) -> Self:
        if self.suggestions and self.selection_behavior is None:
            raise PydanticCustomError("selection-behavior", "selectionBehavior is required with suggestions")
        if any(reason.display is None for reason in self.override_reasons):
            raise PydanticCustomError("override-reasons", "an override reason needs a display text")
        return self
