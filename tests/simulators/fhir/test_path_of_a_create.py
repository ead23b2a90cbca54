"""How many files a request passes: what has to be read to understand one."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import clerkship
from clerkship.fhir.exact import dumps
from clerkship.sandbox.exchange import Request
from clerkship.simulators.fhir.outcome import FHIR_JSON
from tests.simulators.fhir.server import POTASSIUM, Server, without

PACKAGE = Path(clerkship.__file__).parent
NOT_COUNTED = ("conformance/", "fhir/", "kit/")
"""What sends the request, the standard, and general tools."""
MAX_FILES = 15


def files_called(server: Server, request: Request) -> set[str]:
    """Return the files whose functions are called while a request is answered."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        reply = server.rig.send(request)
    finally:
        sys.setprofile(before)
    assert reply.status == 201, reply.body
    inside = {Path(name).relative_to(PACKAGE).as_posix() for name in called if Path(name).is_relative_to(PACKAGE)}
    return {name for name in inside if not name.startswith(NOT_COUNTED)}


def test_one_create_passes_few_files() -> None:
    server = Server()
    body = dumps(without(POTASSIUM, "id"))
    request = Request("POST", "/Observation", headers={"content-type": FHIR_JSON}, body=body)
    server.rig.send(request)  # what is worked out once
    files = files_called(server, request)
    assert len(files) <= MAX_FILES, " ".join(sorted(files))
