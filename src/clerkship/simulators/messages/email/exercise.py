"""Calls over SMTP that use every operation of e-mail, for the conformance suite."""

from clerkship.sandbox.request import Request
from clerkship.simulators.messages.email.operations import (
    EmailSubmission,
    RefusedEmail,
    SmtpCall,
    refuse_email,
    submit_email,
)

_OWN = "frontdesk@clinic.example"
_CONTENT = b"From: frontdesk@clinic.example\r\nTo: ada@mail.example\r\nSubject: Visit\r\n\r\nSee you.\r\n"


def _submit(content: bytes, *recipients: str) -> SmtpCall[EmailSubmission, str]:
    return SmtpCall(submit_email, EmailSubmission(sender=_OWN, recipients=recipients, content=content), _OWN)


EMAIL_EXERCISE = (
    Request("GET", "/messages/unknown/raw"),
    _submit(_CONTENT, "ada@mail.example", "hidden@else.example"),
    _submit(b"From: eve@x.example\r\n" + _CONTENT, "ada@mail.example"),
    SmtpCall(refuse_email, RefusedEmail(code="552", reason="5.3.4 the e-mail is too large", sender=_OWN), _OWN),
)
