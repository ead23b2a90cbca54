"""Refusals in the form of Twilio's REST API: a code of Twilio, a message, a link and the HTTP status."""

from clerkship.sandbox.request import Refusal, Reply, json_reply

MORE_INFO = "https://www.twilio.com/docs/errors/"
BAD_REQUEST = 20001
CODES_BY_STATUS = {
    401: 20003,
    403: 20403,
    404: 20404,
    405: 20004,
    429: 20429,
    500: 20500,
    503: 20503,
}
"""The code of a refusal that has no code of Twilio itself, by its HTTP status."""
DESCRIPTIONS = {
    "30003": "The handset of the recipient cannot be reached",
    "30005": "The number of the recipient is unknown",
    "30006": "The number is a landline, or its carrier cannot be reached",
}
"""The error messages of sent messages that were not delivered, by their error code."""


def get_twilio_code(refusal: Refusal) -> int:
    """Return the code of Twilio for a refusal."""
    if refusal.code.isascii() and refusal.code.isdecimal() and len(refusal.code) == 5:
        return int(refusal.code)
    return CODES_BY_STATUS.get(refusal.status, BAD_REQUEST)


def refuse_as_twilio(refusal: Refusal) -> Reply:
    """Write a refusal as Twilio does."""
    code = get_twilio_code(refusal)
    body = {"code": code, "message": refusal.reason, "more_info": f"{MORE_INFO}{code}", "status": refusal.status}
    return json_reply(refusal.status, body)
