"""Print the functions of the service that are called while a request is planned. Run as a separate program."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import clerkship
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings

PACKAGE = Path(clerkship.__file__).parent
SUITE = Path(__file__).parents[1] / "front_desk"


def functions_called(request: RunRequest, catalog: RegisteredCatalog) -> list[tuple[str, str, str]]:
    """Return file, name and caller's name of each call of a function in the service, while a request is planned."""
    called: list[tuple[str, str, str]] = []
    service = str(PACKAGE / "service")

    def note(frame: FrameType, event: str, _: Any) -> None:
        code, back = frame.f_code, frame.f_back
        if event == "call" and code.co_filename.startswith(service) and not code.co_name.startswith("<"):
            file = Path(code.co_filename).relative_to(service).as_posix()
            called.append((file, code.co_name, back.f_code.co_name if back is not None else ""))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        plan_run(request, Settings(), catalog)
    finally:
        sys.setprofile(before)
    return called


def main() -> None:
    """Plan the demo twice, and print the calls of the second time."""
    catalog, request = RegisteredCatalog(), RunRequest(path=SUITE, agent="nop")
    for _ in range(2):  # what is worked out once is done with the first
        called = functions_called(request, catalog)
    sys.stdout.write("\n".join(" ".join(call) for call in called))


if __name__ == "__main__":
    main()
