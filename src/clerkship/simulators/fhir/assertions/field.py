"""A path in a resource, and the value that is expected there."""

from datetime import datetime

from clerkship.assertions.field_rows import one_or_all
from clerkship.events.query import field_check
from clerkship.formats.fhir.expectation import values_match
from clerkship.formats.fhir.fhirpath import TimedPathText, find_values
from clerkship.formats.fhir.resource import Resource
from clerkship.model.frozen import Frozen
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected


class FhirField(Frozen):
    """A dotted path or FHIRPath, and a literal or matcher for its values."""

    path: TimedPathText
    expected: Expected

    def compare(self, resource: Resource, now: datetime | None) -> FieldCheck:
        """Compare the values at the path with the expectation. `now` is for paths that use the current time."""
        values = find_values(resource, self.path, now)
        return field_check(self.path, self.expected, one_or_all(values), passed=values_match(self.expected, values))
