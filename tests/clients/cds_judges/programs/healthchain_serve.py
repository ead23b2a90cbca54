"""Serve two hooks with healthchain on a free port of loopback, print the port, and end with standard input.

Runs in an environment of its own, so it imports nothing of the project.
"""

import socket
import sys
import threading

import uvicorn
from fastapi import FastAPI
from healthchain.gateway.cds import CDSHooksConfig, CDSHooksService
from healthchain.models.requests.cdsrequest import CDSRequest
from healthchain.models.responses.cdsresponse import CDSResponse

service = CDSHooksService(CDSHooksConfig(base_path="/cds", discovery_path="/cds-services"), use_events=False)


def greet(request: CDSRequest) -> CDSResponse:
    """Return a card with the patient's id."""
    card = {"summary": f"Patient {request.context.patientId}", "indicator": "info", "source": {"label": "Greeter"}}
    return CDSResponse.model_validate({"cards": [card]})


def stay_silent(request: CDSRequest) -> CDSResponse:
    """Return no card."""
    return CDSResponse(cards=[])


service.hook("patient-view", id="greeter", description="Names the patient")(greet)
service.hook("encounter-discharge", id="silent", description="Says nothing")(stay_silent)
app = FastAPI()
app.include_router(service)
listener = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(app, log_level="error"))


def stop_at_end() -> None:
    """Stop the server once standard input is closed."""
    sys.stdin.read()
    server.should_exit = True


threading.Thread(target=stop_at_end, daemon=True).start()
sys.stdout.write(f"{listener.getsockname()[1]}\n")
sys.stdout.flush()
server.run(sockets=[listener])
