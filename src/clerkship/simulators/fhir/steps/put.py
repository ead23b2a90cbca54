"""`fhir.put`: create or replace a resource."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from clerkship.formats.fhir.choice import list_choice_names
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.names import list_resource_names
from clerkship.formats.fhir.reference import iter_references, parse_reference
from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.fhir.validation import validate
from clerkship.model.located_error import FieldPath, build_located_error, existing_part
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import put_resource

_STEP = re.compile(r"[A-Za-z_]\w*|\d+")


def require_valid(resource: Resource) -> Resource:
    """Return the resource; raise an error with the location of each mistake if it is not valid by R4."""
    issues = [issue for issue in validate(resource) if issue.severity in ("fatal", "error")]
    if issues:
        raise build_located_error((_locate(resource, issue.expression), issue.text) for issue in issues)
    return resource


def _locate(resource: Resource, expression: str) -> FieldPath:
    """Return the path of an issue in the data: `Observation.component[1].value` -> `component, 1, valueQuantity`."""
    data: Any = resource
    place: list[int | str] = []
    for step in _STEP.findall(expression)[1:]:
        name: int | str = int(step) if step.isdigit() else step
        if isinstance(data, dict) and isinstance(name, str) and name not in data:
            name = next((choice for choice in list_choice_names(name) if choice in data), name)
        place.append(name)
        inside = existing_part(data, (name,))
        data = data[name] if inside else None
    return existing_part(resource, tuple(place))


class FhirPut(Step):
    """Creates a resource, or replaces the one with its id. Without an id, the server assigns one."""

    name: ClassVar[str] = "fhir.put"
    simulator: ClassVar[str | None] = "fhir"
    resource: Annotated[
        dict[str, Any], AfterValidator(require_valid), Field(description="a complete resource, valid by FHIR R4")
    ]
    sandbox: Annotated[str | None, Field(description="name of the FHIR sandbox; not needed if there is only one")] = (
        None
    )

    def list_required_records(self) -> Iterable[tuple[FieldPath, str]]:
        """Return nothing: the step creates a resource that does not exist."""
        return ()

    def list_referenced_records(self, config: Mapping[str, Any]) -> Iterable[tuple[FieldPath, str]]:
        """Yield the resources that the resource refers to, other than itself.

        There are none if the server does not check references.
        """
        if config.get("references") == "unchecked":
            return
        for path, holder in iter_references(self.resource):
            target = parse_reference(holder["reference"])
            if (
                target is not None
                and target.type in RESOURCE_TYPES
                and (target.key,) != self.list_resulting_records()[0]
            ):
                yield (
                    ("resource", *_locate(self.resource, f"{self.resource['resourceType']}.{path}.reference")),
                    target.key,
                )

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        return ((get_key(self.resource),) if "id" in self.resource else ()), ()

    def list_names(self) -> Iterable[tuple[str, str]]:
        """Return the names by which criteria and other steps can refer to the resource."""
        return list_resource_names(get_key(self.resource)) if "id" in self.resource else ()

    def run(self, host: StepHost) -> None:
        state, action = host.state(FhirState, self.sandbox)
        with Transaction(state, action) as transaction:
            put_resource(transaction, self.resource, "put")
