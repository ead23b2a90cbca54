"""Let phone lines look up the chart as it is now, with what was changed since the start."""

from collections.abc import Mapping

from clerkship.events.event import Event
from clerkship.reactions.contract import React
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.voice.events import ChartAsked
from clerkship.simulators.voice.hooks.chart import ChartAnswer


def answer_line(state: FhirState, action: ActionContext, event: Event) -> ChartAnswer:
    """Return the chart. Nothing is logged: the line's own event has what was found."""
    return ChartAnswer(state)


REACTIONS: Mapping[str, React] = {ChartAsked.kind: answer_line}
