"""The HTTP routes of the Twilio API."""

from typing import Any

from pydantic import ValidationError

from clerkship.sandbox.request import Refusal
from clerkship.sandbox.route import HttpCall, Route, describe_first_error
from clerkship.simulators.messages.twilio import operations as ops
from clerkship.simulators.messages.twilio.errors import refuse_as_twilio
from clerkship.simulators.messages.twilio.form import FORM, TwilioParameters, parse_form
from clerkship.simulators.messages.twilio.operations import Context
from clerkship.simulators.messages.twilio.resources import VERSION

ACCOUNT = f"/{VERSION}/Accounts/{{account}}"
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


def parse_new_sms(call: HttpCall, context: Context) -> ops.NewSms:
    """Parse a text message to send."""
    form = parse_form(call.body)
    refuse_parameters(form)
    return ops.NewSms(
        account=call.params["account"],
        to=form.get("To"),
        sender=form.get("From"),
        body=form.get("Body"),
        status_callback=form.get("StatusCallback"),
    )


def parse_sms_filter(call: HttpCall, context: Context) -> ops.SmsFilter:
    """Parse which text messages to list. A page size above the limit is the limit, as in Twilio."""
    query = TwilioParameters(call.request.pairs)
    size = query.get("PageSize", str(ops.DEFAULT_PAGE_SIZE))
    if size.isascii() and size.isdecimal():
        size = str(min(int(size[:10]), ops.MAX_PAGE_SIZE))
    try:
        return ops.SmsFilter.model_validate(
            {
                "account": call.params["account"],
                "to": query.get("To"),
                "sender": query.get("From"),
                "date_sent": query.get("DateSent"),
                "date_sent_before": query.get("DateSent<"),
                "date_sent_after": query.get("DateSent>"),
                "page": _to_number(query.get("Page", "0")),
                "page_size": _to_number(size),
                "page_token": query.get("PageToken"),
            }
        )
    except ValidationError as error:
        raise Refusal(400, "20001", describe_first_error(error)) from None


def _to_number(text: str) -> int | str:
    return int(text[:10]) if text.isascii() and text.isdecimal() else text


def parse_sms_update(call: HttpCall, context: Context) -> ops.SmsUpdate:
    """Parse a change of a text message."""
    form = parse_form(call.body)
    values = {name.lower(): form.get(name) for name in ("Body", "Status") if name in form}
    return ops.SmsUpdate(account=call.params["account"], sid=call.params["sid"], **values)


def parse_number_filter(call: HttpCall, context: Context) -> ops.NumberFilter:
    """Parse which numbers to list."""
    number = TwilioParameters(call.request.pairs).get("PhoneNumber")
    return ops.NumberFilter(account=call.params["account"], number=number)


def parse_number_update(call: HttpCall, context: Context) -> ops.NumberUpdate:
    """Parse where the agent is called for text messages to a number."""
    form = parse_form(call.body)
    refuse_number_parameters(form)
    url = form.get("SmsUrl") if "SmsUrl" in form else None
    return ops.NumberUpdate(account=call.params["account"], sid=call.params["sid"], sms_url=url)


def parse_resource(call: HttpCall, context: Context) -> ops.TwilioResource:
    """Return the path of a resource that is not simulated."""
    return ops.TwilioResource(path=call.request.path)


def _route(method: str, path: str, operation: Any, **options: Any) -> Route:
    limit: dict[str, Any] = {} if method in ("GET", "DELETE") else {"media": FORM}
    return Route(method, path, operation, refuse=refuse_as_twilio, **limit, **options)


TWILIO_ROUTES = (
    _route("POST", f"{ACCOUNT}/Messages.json", ops.create_sms, parse=parse_new_sms, status=201),
    _route("GET", f"{ACCOUNT}/Messages.json", ops.list_sms, parse=parse_sms_filter),
    _route("GET", f"{ACCOUNT}/Messages/{{sid}}.json", ops.fetch_sms),
    _route("POST", f"{ACCOUNT}/Messages/{{sid}}.json", ops.update_sms, parse=parse_sms_update),
    _route("DELETE", f"{ACCOUNT}/Messages/{{sid}}.json", ops.delete_sms, status=204),
    _route("GET", f"{ACCOUNT}/IncomingPhoneNumbers.json", ops.list_numbers, parse=parse_number_filter),
    _route("GET", f"{ACCOUNT}/IncomingPhoneNumbers/{{sid}}.json", ops.fetch_number),
    _route("POST", f"{ACCOUNT}/IncomingPhoneNumbers/{{sid}}.json", ops.update_number, parse=parse_number_update),
    _route("GET", f"{ACCOUNT}.json", ops.fetch_account),
    *(
        _route(method, f"/{version}/{{path*}}", refusing, parse=parse_resource)
        for (method, version), refusing in ops.REFUSING_OPERATIONS.items()
    ),
)
"""The first route that matches a path and a method counts, so those that refuse come last."""
