"""Requests that exercise every operation of a telephone, with the example line."""

import orjson

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import Request
from clerkship.simulators.voice.config import EXAMPLE_LINE

_PATIENT = {"resourceType": "Patient", "id": "ada", "name": [{"family": "Okafor", "given": ["Ada"]}]}
DATASET = Dataset(name="patients", type="fhir", lines=(orjson.dumps(_PATIENT),))
_FIRST, _SECOND = "call-1", "call-2"


def _post(path: str, **fields: object) -> Request:
    return Request("POST", path, {}, {"content-type": "application/json"}, orjson.dumps(fields))


def _act(call: str, verb: str, **fields: object) -> Request:
    return _post(f"/calls/{call}/{verb}", **fields)


EXERCISE = (
    Request("GET", "/"),
    _post("/calls", to=EXAMPLE_LINE.number),
    _act(_FIRST, "say", text="Is it ringing?"),
    _act(_FIRST, "hear"),
    _act(_FIRST, "press", digits="1"),
    _act(_FIRST, "hear", seconds=2),
    _act(_FIRST, "say", text="Opening hours, please."),
    _act(_FIRST, "hold"),
    _act(_FIRST, "say", text="Hello?"),
    _act(_FIRST, "wait", seconds=3),
    _act(_FIRST, "resume"),
    _act(_FIRST, "resume"),
    _act(_FIRST, "press", digits="0"),
    _act(_FIRST, "press", digits="A"),
    _post("/calls", to=EXAMPLE_LINE.number, **{"from": "+15550100100"}),
    _act(_SECOND, "hear"),
    _act(_SECOND, "press", digits="3"),
    _act(_SECOND, "hear"),
    _act(_SECOND, "say", text="This is the clinic. Please call us back."),
    _act(_SECOND, "hang-up"),
    _act(_SECOND, "hang-up"),
    _act(_FIRST, "wait", seconds=40),
    _act(_FIRST, "say", text="When do you close?"),
    _act(_FIRST, "hear"),
    _act(_FIRST, "hang-up"),
    _post("/calls", to="+15559990000"),
    _post("/calls", to="12"),
    _post("/calls", to="+15550100100"),
    _act("unknown", "answer"),
    _act(_FIRST, "reject"),
    Request("GET", "/calls", {"status": "ended", "count": "1"}),
    Request("GET", f"/calls/{_FIRST}"),
    Request("GET", "/calls/unknown"),
    _act("call-4", "hear"),
    _act("call-4", "say", text="This is Ada Okafor. Please call me."),
    _act("call-4", "hang-up"),
    Request("GET", "/voicemails", {"unread": "true"}),
    Request("GET", "/voicemails", {"mailbox": "pharmacy"}),
    Request("GET", "/voicemails/voicemail-2"),
    _post("/voicemails/voicemail-2", read=False),
    _post("/calls", to="+15550100199"),
    _act("call-5", "hear"),
    _act("call-5", "press", digits="2580#"),
    _act("call-5", "hear"),
    _act("call-5", "press", digits="2"),
    _act("call-5", "wait", seconds=30),
    Request("DELETE", "/voicemails/voicemail-2"),
    Request("GET", "/voicemails/voicemail-1"),
    _post("/webhook", url="tcp://example.test:1"),
    _post("/webhook", url="", events=["call.ringing", "voicemail.received", "call.ended"]),
    Request("GET", "/socket"),
)
