"""Requests and calls that use every operation of SMTP and of the Twilio API, for the conformance suite."""

from typing import Any
from urllib.parse import urlencode

from clerkship.sandbox.operation import OperationCall
from clerkship.sandbox.request import Request
from clerkship.simulators.messages.config import DEFAULT_ACCOUNT_SID, MessagesConfig
from clerkship.simulators.messages.email.operations import (
    EmailSubmission,
    RefusedEmail,
    SmtpCall,
    refuse_email,
    submit_email,
)
from clerkship.simulators.messages.twilio import operations as ops
from clerkship.simulators.messages.twilio.deliveries import TwilioCall
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.resources import VERSION, build_number_sid

_OWN_ADDRESS = "frontdesk@clinic.example"
_CONTENT = b"From: frontdesk@clinic.example\r\nTo: ada@mail.example\r\nSubject: Visit\r\n\r\nSee you.\r\n"


def _submit(content: bytes, *recipients: str) -> SmtpCall:
    return SmtpCall(submit_email, EmailSubmission(sender=_OWN_ADDRESS, recipients=recipients, content=content))


_EMAIL_EXERCISE = (
    Request("GET", "/messages/unknown/raw"),
    _submit(_CONTENT, "ada@mail.example", "hidden@else.example"),
    _submit(b"From: eve@x.example\r\n" + _CONTENT, "ada@mail.example"),
    SmtpCall(refuse_email, RefusedEmail(code="552", reason="5.3.4 the e-mail is too large", sender=_OWN_ADDRESS)),
)

_ACCOUNT = f"/{VERSION}/Accounts/{DEFAULT_ACCOUNT_SID}"
_OWN_NUMBER = MessagesConfig().numbers[0]
_NUMBER = f"{_ACCOUNT}/IncomingPhoneNumbers/{build_number_sid(_OWN_NUMBER)}.json"
_UNKNOWN = f"SM{'0' * 32}"


def _post(path: str, **parameters: str) -> Request:
    return Request("POST", path, headers={"content-type": FORM}, body=urlencode(parameters).encode())


_TWILIO_EXERCISE: tuple[Request | OperationCall[Any, Any], ...] = (
    Request("GET", f"{_ACCOUNT}.json"),
    _post(f"{_ACCOUNT}/Messages.json", To="+15550100199", From=_OWN_NUMBER, Body="Your visit is on Tuesday at 9:00."),
    _post(f"{_ACCOUNT}/Messages.json", To="nobody", From=_OWN_NUMBER, Body="Hello"),
    Request("GET", f"{_ACCOUNT}/Messages.json", {"PageSize": "1", "DateSent>": "2020-01-01"}),
    Request("GET", f"{_ACCOUNT}/Messages/{_UNKNOWN}.json"),
    _post(f"{_ACCOUNT}/Messages/{_UNKNOWN}.json", Status="canceled"),
    Request("DELETE", f"{_ACCOUNT}/Messages/{_UNKNOWN}.json"),
    _post(f"{_ACCOUNT}/Messages.json", To="+15550100199", From=_OWN_NUMBER, MediaUrl="data:image/gif;base64,R0lGOA=="),
    _post(f"{_ACCOUNT}/Messages.json", To="+15550100199", From=_OWN_NUMBER, MediaUrl="https://images.example/a.gif"),
    *(Request("GET", f"{_ACCOUNT}/Messages/{_UNKNOWN}/Media{path}") for path in (".json", "/ME1.json", "/ME1")),
    Request("GET", f"{_ACCOUNT}/IncomingPhoneNumbers.json"),
    Request("GET", _NUMBER),
    _post(_NUMBER, SmsUrl=""),
    *(Request(method, f"/{version}/Services") for method, version in ops.REFUSING_OPERATIONS),
    TwilioCall(ops.read_sms_webhook, ops.SmsCallback(id=_UNKNOWN)),
    TwilioCall(ops.read_sms_status, ops.SmsCallback(id=_UNKNOWN, status="sent")),
    TwilioCall(ops.answer_sms_webhook, ops.SmsAnswer(id=_UNKNOWN, text="Hello")),
)
EXERCISE = (*_EMAIL_EXERCISE, *_TWILIO_EXERCISE)
