"""What the SMTP listener calls: the submission of an e-mail, and the record of one that was refused before its end."""

from typing import Any, ClassVar

from clerkship.model.conversation_key import normalize_address
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OK, Operation, OperationCall, OperationContext, operation
from clerkship.sandbox.request import Refusal, Reply
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.email.mime import Email, parse_email
from clerkship.simulators.messages.email.render import render_email
from clerkship.simulators.messages.events import MessageSent
from clerkship.simulators.messages.operations import MessageId
from clerkship.simulators.messages.outgoing import NewAttachment, OutgoingMessage
from clerkship.simulators.messages.state import MessagesState, build_refused

MAX_LISTED_ADDRESS = 254


class EmailSubmission(Frozen):
    """An e-mail with its envelope (RFC 5321 §2.3.1)."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes
    allow_utf8_headers: bool = False


class RefusedEmail(Frozen):
    """An e-mail that was refused before its content was complete or valid, with the code of SMTP."""

    code: str
    reason: str
    sender: str = ""
    recipients: tuple[str, ...] = ()


@operation(tool=False)
def submit_email(context: OperationContext[MessagesState], submission: EmailSubmission) -> str:
    """Send an e-mail as the organization; return its id."""
    try:
        email = parse_email(submission.content, allow_utf8_headers=submission.allow_utf8_headers)
        message = build_outgoing(email, submission, context.state.config)
    except Refusal as refusal:
        context.action.emit(build_refused(_address(submission), refusal))
        raise
    sent = context.state.send(context.action, message).payload
    assert isinstance(sent, MessageSent)
    return sent.header.id


@operation(tool=False)
def refuse_email(context: OperationContext[MessagesState], refused: RefusedEmail) -> None:
    """Record an e-mail that was refused."""
    refusal = Refusal(400, refused.code, refused.reason)
    context.action.emit(build_refused(_address(refused), refusal))
    raise refusal


@operation(tool=False)
def read_raw_email(context: OperationContext[MessagesState], email: MessageId) -> bytes:
    """Return an e-mail as bytes of RFC 5322, as it came over SMTP; one that arrived is marked as read."""
    if context.state.mailbox.find_message(email.id).header.channel != "email":
        raise Refusal(400, "wrong_channel", f"message {email.id[:60]} is not an e-mail")
    record = context.state.read(context.action, email.id)
    if record.payload.raw is not None:
        return bytes(record.payload.raw)
    header = record.header
    answered = context.state.messages.get(header.in_reply_to or "")
    files = [context.state.attachment(attachment.id) for attachment in header.attachments]
    content = Email(
        sender=header.sender,
        to=header.to,
        cc=header.cc,
        subject=header.subject,
        text=record.payload.text,
        html=record.payload.html,
        attachments=tuple(
            NewAttachment(name=file.name, content_type=file.content_type, data=file.data) for file in files
        ),
        message_id=header.message_id,
        references=(answered.header.message_id,) if answered is not None and answered.header.message_id else (),
    )
    return render_email(content, record.event.at)


def _address(email: EmailSubmission | RefusedEmail) -> OutgoingMessage:
    return OutgoingMessage(channel="email", sender=email.sender, to=email.recipients)


def build_outgoing(email: Email, submission: EmailSubmission, config: MessagesConfig) -> OutgoingMessage:
    """Return the message to send. It goes to the recipients of the envelope; those in neither To nor Cc are Bcc.

    Raises Refusal if From, Sender or Reply-To is not an address of the organization: answers to it would go elsewhere.
    """
    for address in (*((email.sender,) if email.sender else ()), *email.other_senders):
        if not config.owns_email(address):
            listed = ", ".join(config.addresses)
            reason = f"5.7.1 {address[:80]} in From, Sender or Reply-To is not an address of this organization"
            raise Refusal(400, "550", f"{reason} (expected: {listed})")
    shown = {normalize_address("email", address): "to" for address in email.to}
    shown = {normalize_address("email", address): "cc" for address in email.cc} | shown
    groups: dict[str, list[str]] = {"to": [], "cc": [], "bcc": []}
    for address in submission.recipients:
        groups[shown.get(normalize_address("email", address), "bcc")].append(address)
    return OutgoingMessage(
        channel="email",
        sender=email.sender or submission.sender,
        subject=email.subject,
        text=email.text,
        html=email.html,
        attachments=email.attachments,
        message_id=email.message_id,
        references=email.references,
        raw=submission.content,
        **{name: tuple(addresses) for name, addresses in groups.items()},
    )


class SmtpCall(OperationCall[Any, Any]):
    """A call of an operation over SMTP. The log says it is about the sender."""

    transport: ClassVar[str] = "smtp"

    def __init__(self, operation: Operation[Any, Any], email: EmailSubmission | RefusedEmail) -> None:
        super().__init__(operation, email, "".join(filter(str.isprintable, email.sender))[:MAX_LISTED_ADDRESS])

    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Return the reply line, so that faults can cut it."""
        return Reply(OK, f"250 2.0.0 OK: queued as {result}".encode(), result=result)


EMAIL_OPERATIONS: tuple[Operation[Any, Any], ...] = (submit_email, refuse_email, read_raw_email)
