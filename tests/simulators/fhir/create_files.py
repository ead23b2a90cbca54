"""Print the source files that one create passes through. Run as a separate program."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import clerkship
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import render_resource
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.fhir import SPEC
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.outcome import FHIR_JSON
from tests.simulators.fhir.server import CHART, POTASSIUM, remove_elements

PACKAGE = Path(clerkship.__file__).parent
NOT_COUNTED = ("formats/", "kit/")
"""The standard, and general tools."""


def trace_files(gateway: Gateway, context: RequestContext) -> tuple[Reply, set[str]]:
    """Return the reply to a request, and the files whose functions were called."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        reply = gateway.handle(context)
    finally:
        sys.setprofile(before)
    inside = {Path(name).relative_to(PACKAGE).as_posix() for name in called if Path(name).is_relative_to(PACKAGE)}
    return reply, {name for name in inside if not name.startswith(NOT_COUNTED)}


def main() -> None:
    """Create an Observation twice, and print the files that the second create passes through."""
    gateway, chart = Gateway(), Chart(render_resource(resource) for resource in CHART)
    environment = Environment(name="clinic", simulators={"ehr": Simulator(kind="fhir")})
    playground = Playground(environment, {"ehr": PreparedSimulator(SPEC, FhirConfig(), chart)}, "seed")
    gateway.add_playground(playground)
    token, body = playground.sandboxes["ehr"].token, dumps(remove_elements(POTASSIUM, "id"))
    request = Request("POST", "/Observation", headers={"content-type": FHIR_JSON}, body=body)
    for _ in range(2):  # what is worked out once is done with the first
        call = HttpCall(request, "http://ehr.invalid")
        reply, files = trace_files(gateway, RequestContext(playground.id, "ehr", call, token))
        assert reply.status == 201, reply.body
    sys.stdout.write("\n".join(sorted(files)))


if __name__ == "__main__":
    main()
