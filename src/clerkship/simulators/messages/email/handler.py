"""The commands of an e-mail, answered by the sandbox that the connection has logged in to."""

import asyncio
import re
from typing import Any, Protocol

from aiosmtpd.smtp import SMTP, Envelope, Session

from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.simulators.messages.checks import MAX_RECIPIENTS, is_email_address
from clerkship.simulators.messages.email.operations import (
    EmailSubmission,
    RefusedEmail,
    SmtpCall,
    refuse_email,
    submit_email,
)
from clerkship.simulators.messages.email.replies import EXTENSIONS
from clerkship.simulators.messages.state import MessagesState

RUN_ENDED = 401
MAX_REASON = 400
TRANSIENT = (429, 500)
"""The statuses of replies that faults make and a client may try again: too many requests, and from 500."""
_CODE = re.compile(r"[245]\d\d")
_SIZE = re.compile(r"SIZE=(\d{1,20})")


class EmailConnection(Protocol):
    """The part of a connection that the handler uses."""

    client: SandboxClient | None
    """The sandbox that it has logged in to."""
    transport: asyncio.BaseTransport | None

    def drop(self) -> None:
        """Close the connection at once."""

    def close_with(self, status: str) -> None:
        """Send a reply and close the connection."""


class EmailHandler:
    """aiosmtpd calls its `handle_…` methods after it has checked the syntax of a command."""

    def __init__(self, connection: EmailConnection) -> None:
        self._connection = connection

    async def handle_EHLO(  # noqa: N802  (the name that aiosmtpd looks for)
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Announce the extensions. The size limit is that of the sandbox: without a login there is no number."""
        session.host_name = hostname
        client = self._connection.client
        size = "SIZE" if client is None else f"SIZE {read_limit(client)}"
        names = [name for name in EXTENSIONS if name != "STARTTLS" or session.ssl is None]
        lines = [server.hostname, size, *names]
        return [f"250{' ' if place == len(lines) else '-'}{line}" for place, line in enumerate(lines, 1)]

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Begin an e-mail from one of the organization's own addresses."""
        client = self._find_client()
        config: Any = client.config
        owned = {normalize_address("email", own) for own in config.addresses}
        if normalize_address("email", address) not in owned:
            listed = ", ".join(config.addresses)
            reason = f"5.7.1 {address[:80]} is not an address of this organization (expected: {listed})"
            return await self.refuse(client, envelope, "553", reason, sender=address)
        declared = _SIZE.search(" ".join(options))
        if declared is not None and int(declared[1]) > read_limit(client):
            reason = f"5.3.4 the e-mail is larger than {read_limit(client)} bytes"
            return await self.refuse(client, envelope, "552", reason, sender=address)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Add a recipient. One at a domain of another organization is accepted even if it does not exist."""
        client = self._find_client()
        if len(envelope.rcpt_tos) >= MAX_RECIPIENTS:
            return f"452 4.5.3 an e-mail may have {MAX_RECIPIENTS} recipients"
        if not is_email_address(address) or not address.isprintable():
            return await self.refuse(
                client, envelope, "553", "5.1.3 the recipient is not an e-mail address", (address,)
            )
        if not await client.read_state(lambda state: has_mailbox(state, address)):
            return await self.refuse(client, envelope, "550", f"5.1.1 there is no mailbox {address[:80]}", (address,))
        if address not in envelope.rcpt_tos:
            envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_exception(self, error: Exception) -> str:
        """Record a bug of the simulator; a client that sends too long a line is told so."""
        if isinstance(error, ValueError | asyncio.LimitOverrunError):  # from the stream reader
            return "500 5.5.2 the line is too long or not valid"
        if self._connection.client is not None:
            await self._connection.client.fail(error)
        return "451 4.3.0 the server has failed"

    async def submit(self, client: SandboxClient, envelope: Envelope, content: bytes) -> str:
        """Send the e-mail; return the reply. Raises ConnectionResetError if a fault breaks the connection."""
        submission = EmailSubmission(
            sender=envelope.mail_from or "",
            recipients=tuple(envelope.rcpt_tos),
            content=content,
            allow_utf8_headers=bool(envelope.smtp_utf8),
        )
        return await self._answer(await client.call(SmtpCall(submit_email, submission, submission.sender)))

    async def refuse(
        self,
        client: SandboxClient,
        envelope: Envelope,
        code: str,
        reason: str,
        recipients: tuple[str, ...] = (),
        sender: str = "",
    ) -> str:
        """Record that an e-mail or a recipient is refused; return the reply."""
        refused = RefusedEmail(
            code=code,
            reason=to_printable(reason),
            sender=to_printable(sender or envelope.mail_from or ""),
            recipients=tuple(map(to_printable, recipients or envelope.rcpt_tos)),
        )
        return await self._answer(await client.call(SmtpCall(refuse_email, refused, refused.sender)))

    def _find_client(self) -> SandboxClient:
        client = self._connection.client
        if client is None or not client.open:
            self._connection.close_with("421 4.3.2 the run is over")
            raise ConnectionResetError
        return client

    async def _answer(self, reply: Reply) -> str:
        """Return the reply of the sandbox as one of SMTP."""
        if reply.lost:
            self._connection.drop()
            raise ConnectionResetError
        if reply.status == RUN_ENDED:
            self._connection.close_with("421 4.3.2 the run is over")
            raise ConnectionResetError
        if reply.delivery is not IMMEDIATE and reply.delivery.over:
            await asyncio.sleep(reply.delivery.over)
        if reply.delivery.promised is not None:  # a fault cuts the reply
            transport: Any = self._connection.transport
            transport.write(reply.body)
            transport.close()
            raise ConnectionResetError
        if reply.ok:
            return reply.body.decode("utf-8", "replace")
        return render_refusal(reply)


def render_refusal(reply: Reply) -> str:
    """Return a refusal as one line: with its own code if that is one of SMTP."""
    refusal = reply.refusal
    reason = to_printable(refusal.reason if refusal is not None else reply.body.decode("utf-8", "replace"))
    if refusal is not None and _CODE.fullmatch(refusal.code):
        return f"{refusal.code} {reason}"
    if reply.status in TRANSIENT or reply.status > max(TRANSIENT):
        return f"451 4.3.0 {reason}"
    return f"554 5.6.0 {reason}"


def to_printable(text: str) -> str:
    """Return text as one line of a reply and of the log."""
    return "".join(character if character.isprintable() else "?" for character in text)[:MAX_REASON]


def read_limit(client: SandboxClient) -> int:
    """Return the largest e-mail of a sandbox in bytes."""
    config: Any = client.config
    return int(config.max_message_bytes)


def has_mailbox(state: MessagesState, address: str) -> bool:
    """Return whether an address may exist: at its own domains it must be that of the organization or a contact."""
    owned = {normalize_address("email", own) for own in state.settings.addresses}
    normalized = normalize_address("email", address)
    is_local = normalized.rpartition("@")[2] in {own.rpartition("@")[2] for own in owned}
    return not is_local or normalized in owned or bool(state.directory.find("email", normalized))
