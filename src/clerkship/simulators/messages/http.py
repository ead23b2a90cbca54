"""The HTTP routes of messages."""

from clerkship.sandbox.request import Reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.messages import operations as ops
from clerkship.simulators.messages.email.operations import read_raw_email
from clerkship.simulators.messages.events import AttachmentStored
from clerkship.simulators.messages.operations import Context


def render_download(stored: AttachmentStored) -> Reply:
    """Render a file with its content type. A browser must not run it, so it is a download."""
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    media = stored.content_type if stored.content_type.isascii() else "application/octet-stream"
    return Reply(200, stored.data, media, headers)


def render_attachment(call: HttpCall, context: Context, data: bytes) -> Reply:
    """Render an attachment."""
    return render_download(context.state.attachment(call.params["id"]))


def render_raw_email(call: HttpCall, context: Context, data: bytes) -> Reply:
    """Render an e-mail as a download."""
    return Reply(200, data, "message/rfc822", {"X-Content-Type-Options": "nosniff"})


ROUTES = (
    Route("GET", "/", ops.show_organization),
    Route("GET", "/messages", ops.list_messages),
    Route("POST", "/messages", ops.send_message, status=201),
    Route("GET", "/messages/{id}", ops.read_message),
    Route("GET", "/messages/{id}/raw", read_raw_email, render=render_raw_email),
    Route("POST", "/messages/{id}/read", ops.mark_message),
    Route("GET", "/threads", ops.list_threads),
    Route("GET", "/threads/{id}", ops.read_thread),
    Route("POST", "/threads/{id}/close", ops.close_thread),
    Route("GET", "/attachments/{id}", ops.read_attachment, render=render_attachment),
    Route("GET", "/contacts", ops.list_contacts),
    Route("GET", "/consents", ops.list_consents),
)
