"""What a FHIR server does about other sandboxes' events: nothing yet."""

from collections.abc import Mapping

from clerkship.simulators.spec import React

REACTIONS: Mapping[str, React] = {}
