"""What is simulated of the Twilio API and what is refused, as data for requests and documentation."""

from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.twilio.form import TwilioParameters

REFUSED_PARAMETERS = {
    "MessagingServiceSid": ("21701", "Messaging Services are not simulated; give `From`"),
    "MediaUrl": ("21620", "media are not simulated; send text"),
    "ContentSid": ("21655", "content templates are not simulated; give `Body`"),
    "ScheduleType": ("35118", "scheduled messages are not simulated; send the message when it is due"),
    "SendAt": ("35118", "scheduled messages are not simulated; send the message when it is due"),
    "SendAsMms": ("21620", "MMS is not simulated; send a text message"),
}
"""Parameters of a new message that are refused -> the code and the reason."""
IGNORED_PARAMETERS = (
    *("ApplicationSid", "Attempt", "ContentRetention", "AddressRetention", "ForceDelivery", "MaxPrice"),
    *("MessageIntent", "PersistentAction", "ProvideFeedback", "RiskCheck", "ShortenUrls", "SmartEncoded"),
    *("TrafficType", "ValidityPeriod"),
)
"""Parameters of a new message that are accepted and have no effect."""
SIMULATED_PARAMETERS = ("To", "From", "Body", "StatusCallback")
REFUSED_REQUESTS = {
    "DELETE of a message, or an empty Body for it, before it is delivered": "not complete (code 20009)",
    "POST /2010-04-01/Accounts/{account}/Messages/{sid}.json with Status=canceled": (
        "only scheduled messages can be canceled (code 30409)"
    ),
    "any other resource of version 2010-04-01, and /v1, /v2": "not simulated (code 20404)",
    "webhooks by GET (SmsMethod), SmsFallbackUrl, SmsApplicationSid": "not simulated (code 20001)",
    "TwiML other than `<Message>` and `<Body>`": "not answered; `outbound.attempted` has the reason",
}
"""Requests that are refused by name, with the reason."""
REFUSED_NUMBER_PARAMETERS = {
    "SmsApplicationSid": "TwiML applications are not simulated; set SmsUrl",
    "SmsFallbackUrl": "fallback URLs are not simulated",
    "StatusCallback": "set StatusCallback for each message",
}
"""Parameters of a phone number that are refused -> the reason. Parameters about voice are ignored."""


def refuse_parameters(form: TwilioParameters) -> None:
    """Raise Refusal if a new message has a parameter that is not simulated."""
    for name, (code, reason) in REFUSED_PARAMETERS.items():
        if form.get(name) and form.get(name).lower() != "false":
            raise Refusal(400, code, f"{name}: {reason}")


def refuse_number_parameters(form: TwilioParameters) -> None:
    """Raise Refusal if the update of a phone number has a parameter that is not simulated."""
    for name, reason in REFUSED_NUMBER_PARAMETERS.items():
        if form.get(name):
            raise Refusal(400, "20001", f"{name}: {reason}")
    if form.get("SmsMethod", "POST").upper() not in ("POST", ""):
        raise Refusal(400, "20001", f"SmsMethod: expected POST, not {form.get('SmsMethod')[:20]}")
