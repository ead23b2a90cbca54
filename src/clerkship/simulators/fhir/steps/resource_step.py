"""The base class of steps on one resource, given as `Patient/42` or by type and id."""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.reference import parse_reference
from clerkship.model.located_error import FieldPath
from clerkship.model.names import did_you_mean
from clerkship.sandbox.steps.contract import Step


class ResourceStep(Step):
    """A step on one existing resource."""

    resource: Annotated[str | None, Field(description="the resource, such as `Patient/42`")] = None
    type: Annotated[str | None, Field(description="its type, if `resource` is not given")] = None
    id: Annotated[str | None, Field(description="its id, if `resource` is not given")] = None
    sandbox: Annotated[str | None, Field(description="name of the FHIR sandbox; not needed if there is only one")] = (
        None
    )

    @property
    def key(self) -> str:
        return self.resource if self.resource is not None else f"{self.type}/{self.id}"

    def list_required_records(self) -> Iterable[tuple[FieldPath, str]]:
        """Return the resource that must exist."""
        return [(("resource",) if self.resource is not None else ("id",), self.key)]

    def list_referenced_records(self, config: Mapping[str, Any]) -> Iterable[tuple[FieldPath, str]]:
        return ()

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        return (self.key,), ()

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        parts = [part for part in (self.type, self.id) if part is not None]
        if len(parts) != (2 if self.resource is None else 0):
            raise ValueError("expected `resource`, such as Patient/42, or `type` and `id`")
        target = parse_reference(self.key)
        if target is None or target.version is not None:
            raise ValueError(f"`{self.key}` is not a resource (expected: a type and an id, such as Patient/42)")
        if target.type not in RESOURCE_TYPES:
            hint = did_you_mean(target.type, RESOURCE_TYPES)
            raise ValueError(f"unknown resource type `{target.type}`" + (f"; {hint}" if "mean" in hint else ""))
        return self
