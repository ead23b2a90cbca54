"""Other ways to do what the reference solutions of `suites/messages` do.

They wrap the sandboxes of any solution: what is sent goes out by another protocol, or in other words.
"""

import calendar
import re
import smtplib
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlencode

from clerkship.sandbox.handle import Refused
from clerkship.simulators.messages.config import DEFAULT_ACCOUNT_SID
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.resources import VERSION
from tests.suites.test_shipped import ROOT

MESSAGES = ROOT / "suites" / "messages"
Solve = Callable[[Any, Any], Any]
Json = dict[str, Any]
TEXTS = f"/{VERSION}/Accounts/{DEFAULT_ACCOUNT_SID}/Messages.json"
OWN_NUMBER = "+15550100100"
OWN_ADDRESS = "frontdesk@riverbend.example"
MONTHS = tuple(calendar.month_name)[1:]
_DATE = re.compile(rf"(?:\w+day, )?({'|'.join(MONTHS)}) (\d\d?)\b")
_TIME = re.compile(r"\b(\d\d?):(\d\d) ?([AP])\.?M\b\.?", re.IGNORECASE)
_BROKEN_SUBJECT = "Hello\r\nBcc: everybody@else.example"


class MessagesWay:
    """All sandboxes. What is sent goes through `send` and `reply` of this class."""

    def __init__(self, sandboxes: Any) -> None:
        self.sandboxes = sandboxes
        self.inbox = sandboxes["inbox"]

    @classmethod
    def wrap(cls, solve: Solve) -> Solve:
        """Return the solution with wrapped sandboxes."""
        return lambda task_item, sandboxes: solve(task_item, cls(sandboxes))

    def __getitem__(self, name: str) -> Any:
        return WrappedInbox(self) if name == "inbox" else self.sandboxes[name]

    def __getattr__(self, name: str) -> Any:
        """The clock."""
        return getattr(self.sandboxes, name)

    def send(self, channel: str, to: str | list[str], text: str, **fields: Any) -> Json:
        """Send a message."""
        sent: Json = self.inbox.send(channel, to, text, **fields)
        return sent

    def reply(self, id: str, text: str, **fields: Any) -> Json:
        """Answer a message."""
        sent: Json = self.inbox.reply(id, text, **fields)
        return sent


class WrappedInbox:
    """The inbox, of which sending is wrapped."""

    def __init__(self, way: MessagesWay) -> None:
        self._way = way
        self.send, self.reply = way.send, way.reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._way.inbox, name)


class UseTwilio(MessagesWay):
    """Text messages by the API of Twilio."""

    def send(self, channel: str, to: str | list[str], text: str, **fields: Any) -> Json:
        """Post a form."""
        if channel != "sms":
            return super().send(channel, to, text, **fields)
        [number] = [to] if isinstance(to, str) else to
        form = urlencode({"To": number, "From": OWN_NUMBER, "Body": text}).encode()
        self.inbox.request("POST", TEXTS, body=form, media=FORM)
        sent: Json = self.inbox.messages(channel="sms", direction="outbound")[-1]
        return sent

    def reply(self, id: str, text: str, **fields: Any) -> Json:
        """Send a text to the number of the message."""
        answered = self.inbox.read(id)
        if answered["channel"] != "sms":
            return super().reply(id, text, **fields)
        return self.send("sms", answered["from"], text)


class UseSmtp(MessagesWay):
    """E-mail by SMTP, with the headers of an answer."""

    def send(self, channel: str, to: str | list[str], text: str, **fields: Any) -> Json:
        """Submit an e-mail."""
        if channel != "email":
            return super().send(channel, to, text, **fields)
        recipients = [to] if isinstance(to, str) else to
        return self._submit(recipients, fields.get("subject") or "", text, **fields)

    def reply(self, id: str, text: str, **fields: Any) -> Json:
        """Submit an e-mail that answers another."""
        answered = self.inbox.read(id)
        if answered["channel"] != "email":
            return super().reply(id, text, **fields)
        subject = fields.pop("subject", None) or f"Re: {answered['subject']}"
        return self._submit([answered["from"]], subject, text, answers=answered["message_id"], **fields)

    def _submit(self, recipients: list[str], subject: str, text: str, *, answers: str = "", **fields: Any) -> Json:
        email = EmailMessage()
        email["From"] = fields.get("from", OWN_ADDRESS)
        email["To"] = ", ".join(recipients)
        if "cc" in fields:
            email["Cc"] = ", ".join(fields["cc"])
        email["Subject"] = subject
        if answers:
            email["In-Reply-To"] = email["References"] = answers
        email.set_content(text)
        for name, data in fields.get("attachments", {}).items():
            email.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
        server = self.inbox.listeners["smtp"]
        with smtplib.SMTP(server["host"], server["port"]) as client:
            client.login(server["user"], server["password"])
            client.send_message(email)
        sent: Json = self.inbox.messages(channel="email", direction="outbound")[-1]
        return sent


class RewrittenTexts(MessagesWay):
    """The same messages in other words."""

    def rewrite(self, text: str) -> str:
        """Return a text in other words."""
        raise NotImplementedError

    def send(self, channel: str, to: str | list[str], text: str, **fields: Any) -> Json:
        """Send it rewritten."""
        return super().send(channel, to, self.rewrite(text), **fields)

    def reply(self, id: str, text: str, **fields: Any) -> Json:
        """Answer rewritten."""
        return super().reply(id, self.rewrite(text), **fields)


class UseCapitals(RewrittenTexts):
    """Everything in capitals."""

    def rewrite(self, text: str) -> str:
        """Return it in capitals."""
        return text.upper()


class UseNumericDates(RewrittenTexts):
    """Days as 3/12, and times of 24 hours."""

    def rewrite(self, text: str) -> str:
        """Replace days and times."""
        text = _DATE.sub(lambda found: f"{MONTHS.index(found[1]) + 1}/{found[2]}", text)
        return _TIME.sub(lambda found: f"{int(found[1]) % 12 + 12 * (found[3] in 'Pp'):02}:{found[2]}", text)


class WriteLetters(RewrittenTexts):
    """With a greeting and an ending, on several lines."""

    def rewrite(self, text: str) -> str:
        """Add a greeting and an ending."""
        return f"Good day!\n\n{text}\n\nKind regards,\nthe front desk of Riverbend Family Health Center"


class ReadTwice(MessagesWay):
    """Reads what was read before again, and each conversation, before everything that is sent."""

    def _read_everything(self) -> None:
        unread = {message["id"] for message in self.inbox.inbox()}
        for message in self.inbox.messages():
            if message["id"] not in unread:
                self.inbox.read(message["id"])
        for thread in self.inbox.threads():
            self.inbox.thread(thread["id"])
        self.inbox.consents()

    def send(self, channel: str, to: str | list[str], text: str, **fields: Any) -> Json:
        """Read, then send."""
        self._read_everything()
        return super().send(channel, to, text, **fields)

    def reply(self, id: str, text: str, **fields: Any) -> Json:
        """Read, then answer."""
        self._read_everything()
        return super().reply(id, text, **fields)


class MendSlips(MessagesWay):
    """Each message first in a form that is refused."""

    def send(self, channel: str, to: str | list[str], text: str, **fields: Any) -> Json:
        """Send one that is refused, then the right one."""
        self._be_refused(channel=channel, to=[to] if isinstance(to, str) else to)
        return super().send(channel, to, text, **fields)

    def reply(self, id: str, text: str, **fields: Any) -> Json:
        """Answer in a way that is refused, then rightly."""
        self._be_refused(channel=self.inbox.read(id)["channel"], in_reply_to=id)
        return super().reply(id, text, **fields)

    def _be_refused(self, channel: str, **fields: Any) -> None:
        broken = {"text": ""} if channel == "sms" else {"text": "Hello", "subject": _BROKEN_SUBJECT}
        try:
            self.inbox._json("POST", "/messages", {"channel": channel, **fields, **broken})
        except Refused:
            return
        raise AssertionError("a message was accepted that should be refused")


WAYS = ("UseTwilio", "UseSmtp", "UseCapitals", "UseNumericDates", "WriteLetters", "ReadTwice", "MendSlips")
NOT_APPLICABLE: dict[str, tuple[str, ...]] = {
    # It asks for a sentence as it stands.
    "UseCapitals": ("Answer an emergency*",),
}
"""Way -> tasks (patterns of their names) for which it would not be correct."""
