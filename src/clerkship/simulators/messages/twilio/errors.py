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
REFUSALS = {
    "11751": "the attachments are too large",
    "20001": "a parameter is not valid, or not simulated",
    "20003": "the Account SID or the Auth Token is wrong",
    "20004": "the method is not allowed",
    "20009": "the message is not complete, so it is not deleted",
    "20404": "there is no such account, message, number or resource",
    "20429": "`max_messages` is reached, or a fault",
    "21211": "`To` is not a phone number",
    "21212": "`From` is not a phone number",
    "21266": "`To` and `From` are the same",
    "21402": "`SmsUrl` is not a URL that may be called",
    "21602": "`Body` is missing",
    "21603": "`From` is missing",
    "21604": "`To` is missing",
    "21609": "`StatusCallback` is not a URL that may be called",
    "21610": "the recipient has opted out",
    "21617": "`Body` is too long",
    "21620": "`MediaUrl` is no data: URL, and names no media of this sandbox",
    "21623": "too many attachments",
    "21655": "content templates are not simulated",
    "21659": "`From` is not a number of the organization",
    "21701": "messaging services are not simulated",
    "30400": "an update with other values than an empty `Body`",
    "30409": "only scheduled messages are canceled, and they are not simulated",
    "35118": "scheduled messages are not simulated",
}
"""The codes of Twilio with which requests are refused."""
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
