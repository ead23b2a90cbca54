"""The base class of the JSON objects of CDS Hooks."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from clerkship.model.frozen import Frozen

Text = Annotated[str, Field(min_length=1)]
"""A string that is not empty: empty values are not allowed unless the specification says so ("Use of JSON")."""
Extension = dict[str, Any]
"""Data that a field of its own name explains, as implementers agree ("Extensions")."""


class WireModel(Frozen):
    """A JSON object of CDS Hooks. Fields are read by their name on the wire (`selectionBehavior`) or in Python."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    def to_wire(self) -> dict[str, Any]:
        """Return the object as JSON data, with the names of the specification and without fields that have no value."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
