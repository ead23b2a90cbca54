"""Answer prefetch queries from the chart, and apply accepted suggestions to it."""

from collections.abc import Mapping

from clerkship.reactions.cds_to_fhir.prefetch import fetch_resources
from clerkship.reactions.cds_to_fhir.suggestion import apply_actions
from clerkship.reactions.contract import React
from clerkship.simulators.cds.events import HookRequested, SuggestionAccepted

REACTIONS: Mapping[str, React] = {HookRequested.kind: fetch_resources, SuggestionAccepted.kind: apply_actions}
