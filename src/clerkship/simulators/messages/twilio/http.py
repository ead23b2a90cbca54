"""The HTTP routes of the Twilio API."""

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import ValidationError

from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import HttpCall, Route, describe_first_error
from clerkship.simulators.messages.events import AttachmentStored
from clerkship.simulators.messages.http import render_download
from clerkship.simulators.messages.twilio import operations as ops
from clerkship.simulators.messages.twilio.errors import refuse_as_twilio
from clerkship.simulators.messages.twilio.form import FORM, TwilioParameters, parse_form
from clerkship.simulators.messages.twilio.operations import Context
from clerkship.simulators.messages.twilio.resources import VERSION

ACCOUNT = f"/{VERSION}/Accounts/{{account}}"
MEDIA = f"{ACCOUNT}/Messages/{{sid}}/Media"
REFUSED_PARAMETERS = {
    "MessagingServiceSid": ("21701", "Messaging Services are not simulated; give `From`"),
    "ContentSid": ("21655", "content templates are not simulated; give `Body`"),
    "ScheduleType": ("35118", "scheduled messages are not simulated; send the message when it is due"),
    "SendAt": ("35118", "scheduled messages are not simulated; send the message when it is due"),
}
"""Parameters of a new message that are refused -> the code and the reason."""
IGNORED_PARAMETERS = (
    *("ApplicationSid", "Attempt", "ContentRetention", "AddressRetention", "ForceDelivery", "MaxPrice"),
    *("MessageIntent", "PersistentAction", "ProvideFeedback", "RiskCheck", "SendAsMms", "ShortenUrls"),
    *("SmartEncoded", "TrafficType", "ValidityPeriod"),
)
"""Parameters of a new message that are accepted and have no effect."""
SIMULATED_PARAMETERS = ("To", "From", "Body", "MediaUrl", "StatusCallback")
LIST_PARAMETERS = frozenset({"MediaUrl"})
"""Parameters that a request may have several times."""
REFUSED_REQUESTS = {
    "DELETE of a message, or an empty Body for it, before it is delivered": "not complete (code 20009)",
    "POST /2010-04-01/Accounts/{account}/Messages/{sid}.json with Status=canceled": (
        "only scheduled messages can be canceled (code 30409)"
    ),
    "DELETE of media": "not simulated (code 20404)",
    "any other resource of version 2010-04-01, and /v1, /v2": "not simulated (code 20404)",
    "webhooks by GET (SmsMethod), SmsFallbackUrl, SmsApplicationSid": "not simulated (code 20001)",
    "TwiML other than `<Message>`, `<Body>` and `<Media>`": "not answered; `outbound.attempted` has the reason",
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


def parse_parameters(call: HttpCall, context: Context, refuse: Callable[[TwilioParameters], None] | None = None) -> Any:
    """Read the input of an operation: fields with an alias from the form or the query, others from the path."""
    assert call.route is not None
    parameters = parse_form(call.body) if call.route.media else TwilioParameters(call.request.pairs)
    if refuse is not None:
        refuse(parameters)
    model = call.route.operation.input
    names = [field.alias for field in model.model_fields.values() if field.alias and field.alias in parameters]
    try:
        values = {name: parameters.get_all(name) if name in LIST_PARAMETERS else parameters.get(name) for name in names}
        return model.model_validate({**call.params, **values})
    except ValidationError as error:
        raise Refusal(400, "20001", describe_first_error(error)) from None


parse_new_sms = partial(parse_parameters, refuse=refuse_parameters)
parse_number_update = partial(parse_parameters, refuse=refuse_number_parameters)


def parse_resource(call: HttpCall, context: Context) -> ops.TwilioResource:
    """Return the path of a resource that is not simulated."""
    return ops.TwilioResource(path=call.request.path)


def render_media(call: HttpCall, context: Context, stored: AttachmentStored) -> Reply:
    """Render media with their content type."""
    return render_download(stored)


def _route(method: str, path: str, operation: Any, **options: Any) -> Route:
    limit: dict[str, Any] = {} if method in ("GET", "DELETE") else {"media": FORM}
    return Route(method, path, operation, refuse=refuse_as_twilio, **limit, **options)


TWILIO_ROUTES = (
    _route("POST", f"{ACCOUNT}/Messages.json", ops.create_sms, parse=parse_new_sms, status=201),
    _route("GET", f"{ACCOUNT}/Messages.json", ops.list_sms, parse=parse_parameters),
    _route("GET", f"{ACCOUNT}/Messages/{{sid}}.json", ops.fetch_sms),
    _route("POST", f"{ACCOUNT}/Messages/{{sid}}.json", ops.update_sms, parse=parse_parameters),
    _route("DELETE", f"{ACCOUNT}/Messages/{{sid}}.json", ops.delete_sms, status=204),
    _route("GET", f"{MEDIA}.json", ops.list_media, parse=parse_parameters),
    _route("GET", f"{MEDIA}/{{media}}.json", ops.fetch_media),
    _route("GET", f"{MEDIA}/{{media}}", ops.download_media, render=render_media),
    _route("GET", f"{ACCOUNT}/IncomingPhoneNumbers.json", ops.list_numbers, parse=parse_parameters),
    _route("GET", f"{ACCOUNT}/IncomingPhoneNumbers/{{sid}}.json", ops.fetch_number),
    _route("POST", f"{ACCOUNT}/IncomingPhoneNumbers/{{sid}}.json", ops.update_number, parse=parse_number_update),
    _route("GET", f"{ACCOUNT}.json", ops.fetch_account),
    *(
        _route(method, f"/{version}/{{path*}}", refusing, parse=parse_resource)
        for (method, version), refusing in ops.REFUSING_OPERATIONS.items()
    ),
)
"""The first route that matches a path and a method counts, so those that refuse come last."""
