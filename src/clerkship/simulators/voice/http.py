"""The HTTP routes of a telephone."""

from clerkship.sandbox.route import Route
from clerkship.simulators.voice import operations as ops
from clerkship.simulators.voice.webhook import register_voice_webhook
from clerkship.simulators.voice.websocket import open_socket
from clerkship.transports.websocket_handshake import websocket_route

ROUTES = (
    Route("GET", "/", ops.show_phone),
    Route("GET", "/calls", ops.list_calls),
    Route("POST", "/calls", ops.dial, status=201),
    Route("GET", "/calls/{id}", ops.show_call),
    Route("POST", "/calls/{id}/hear", ops.hear),
    Route("POST", "/calls/{id}/wait", ops.wait),
    Route("POST", "/calls/{id}/say", ops.say),
    Route("POST", "/calls/{id}/press", ops.press),
    Route("POST", "/calls/{id}/hold", ops.hold),
    Route("POST", "/calls/{id}/resume", ops.resume),
    Route("POST", "/calls/{id}/hang-up", ops.hang_up),
    Route("POST", "/calls/{id}/answer", ops.answer),
    Route("POST", "/calls/{id}/reject", ops.reject),
    Route("GET", "/voicemails", ops.list_voicemails),
    Route("GET", "/voicemails/{id}", ops.read_voicemail),
    Route("POST", "/voicemails/{id}", ops.mark_voicemail),
    Route("DELETE", "/voicemails/{id}", ops.delete_voicemail),
    Route("POST", "/webhook", register_voice_webhook),
    websocket_route("/socket", open_socket),
)
