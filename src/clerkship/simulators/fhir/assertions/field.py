"""A path in a resource, and what must be there."""

from datetime import datetime

from clerkship.assertions.field_rows import one_or_all
from clerkship.events.query import field_check
from clerkship.fhir.expectation import values_match
from clerkship.fhir.fhirpath import TimedPathText, find_values
from clerkship.fhir.resource import Resource
from clerkship.model.frozen import Frozen
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected


class FhirField(Frozen):
    """A dotted path or FHIRPath, and a literal or a matcher for what it leads to."""

    path: TimedPathText
    expected: Expected

    def compare(self, resource: Resource, now: datetime | None) -> FieldCheck:
        """Compare what is there with what is expected; `now` is the time for a path that asks for it."""
        values = find_values(resource, self.path, now)
        return field_check(self.path, self.expected, one_or_all(values), passed=values_match(self.expected, values))
