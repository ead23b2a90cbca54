"""SMTP connections: aiosmtpd's protocol, with logins, limits, and e-mail handed to the sandbox."""

import asyncio
import logging
import re
import ssl
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from clerkship.kit.wall import monotonic
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.simulators.messages.checks import MAX_RECIPIENTS, has_mailbox, is_email_address
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.email.operations import (
    EmailSubmission,
    RefusedEmail,
    SmtpCall,
    refuse_email,
    submit_email,
)
from clerkship.transports.tcp import OpenPort

if TYPE_CHECKING:
    from clerkship.simulators.messages.email.smtp import Smtp

HOST_NAME = "mail.sandbox.example"
IDENT = "ESMTP"
MAX_LOGIN_TRIES = 5
MAX_CONNECTION_SECONDS = 3600.0
COMMAND_BYTES = 1000
"""The longest command; the limit of RFC 5321 §4.5.3.1.4 grows with extensions and long addresses."""
MAX_LINE_BYTES = 998
"""Without its line break (RFC 5321 §4.5.3.1.6)."""
END = b"\r\n.\r\n"
RUN_ENDED = 401
MAX_REASON = 400
TOO_MANY_REQUESTS, SERVER_ERROR = 429, 500
"""The statuses of replies that faults make and a client may try again."""
_CODE = re.compile(r"[245]\d\d")
_SIZE = re.compile(r"SIZE=(\d{1,20})")
EXTENSIONS = ("PIPELINING", "8BITMIME", "SMTPUTF8", "STARTTLS", "AUTH LOGIN PLAIN", "HELP")
"""What EHLO announces besides SIZE; STARTTLS until TLS is active."""
SMTP_REFUSALS: Mapping[str, str] = {
    "421": "closes the connection: too many connections or failed logins; nothing has come for too long; the run is "
    "over",
    "451": "a fault, or an error of the server; try again",
    "452": "too many recipients, too many e-mails at once, or `max_messages` is reached",
    "500": "an unknown command, or a line that is too long",
    "501": "a command with an argument that is missing or not valid",
    "503": "a command out of order, such as DATA without a recipient",
    "530": "the command needs a login",
    "535": "the user or the password is wrong",
    "538": "`smtp_requires_tls`: STARTTLS must come before AUTH",
    "550": "there is no such mailbox at a domain of the organization; From, Sender or Reply-To is another's address",
    "552": "larger than `max_message_bytes`",
    "553": "not an e-mail address, or a sender that is no address of the organization",
    "554": "content that is not valid: a bare CR or LF, a NUL, a header or a MIME part",
}
"""The code of a refusal -> when it is sent (RFC 5321 §4.2, RFC 4954 §6)."""


def render_refusal(reply: Reply) -> str:
    """Return a refusal as one line: with its own code if that is one of SMTP."""
    refusal = reply.refusal
    reason = to_printable(refusal.reason if refusal is not None else reply.body.decode("utf-8", "replace"))
    if refusal is not None and _CODE.fullmatch(refusal.code):
        return f"{refusal.code} {reason}"
    is_transient = reply.status == TOO_MANY_REQUESTS or reply.status >= SERVER_ERROR
    return f"451 4.3.0 {reason}" if is_transient else f"554 5.6.0 {reason}"


def get_config(client: SandboxClient) -> MessagesConfig:
    """Return the configuration of a sandbox."""
    return cast(MessagesConfig, client.config)


def render_too_large(limit: int) -> str:
    """Return the refusal of an e-mail that is larger than a limit."""
    return f"552 5.3.4 the e-mail is larger than {limit} bytes"


def to_printable(text: str) -> str:
    """Return text as one line of a reply and of the log."""
    return "".join(character if character.isprintable() else "?" for character in text)[:MAX_REASON]


def find_problem(content: bytes) -> str:
    """Return the refusal of content that other servers would read differently; empty if there is none.

    A line break is CRLF and nothing else (RFC 5321 §2.3.8): a bare LF around a dot would end the e-mail for some
    servers, and what follows would be another one.
    """
    breaks = content.count(b"\r\n")
    if content.count(b"\r") != breaks or content.count(b"\n") != breaks:
        return "554 5.5.2 a line ends with a bare CR or LF; lines end with CR LF"
    if b"\0" in content:
        return "554 5.6.0 the e-mail contains a NUL"
    if any(len(line) > MAX_LINE_BYTES for line in content.split(b"\r\n")):
        return f"500 5.5.2 a line is longer than {MAX_LINE_BYTES} bytes"
    return ""


class SmtpConnection(SMTP):
    """One connection, and the sandbox it has logged in to.

    aiosmtpd calls its `handle_…` methods after it has checked the syntax of a command.
    """

    AuthLoginUsernameChallenge = "Username:"
    AuthLoginPasswordChallenge = "Password:"

    def __init__(self, listener: "Smtp", context: ssl.SSLContext) -> None:
        # aiosmtpd's own table is shared by all connections and cleared by each new one.
        self.command_size_limits = defaultdict(lambda: COMMAND_BYTES)
        self.command_size_limit = COMMAND_BYTES
        self._listener, self._table = listener, listener.tcp.table
        self.client: SandboxClient | None = None
        self._is_encrypted = listener.is_tls
        self._tries = 0
        self._is_busy = self._has_spoken = self._is_closing = False
        self._opened_at = self._active_at = monotonic()
        super().__init__(
            # Not the connection itself: aiosmtpd looks at each attribute of the object that has the hooks.
            SimpleNamespace(handle_EHLO=self.handle_EHLO, handle_MAIL=self.handle_MAIL, handle_RCPT=self.handle_RCPT),
            hostname=HOST_NAME,
            ident=IDENT,
            data_size_limit=None,
            enable_SMTPUTF8=True,
            tls_context=context,
            timeout=MAX_CONNECTION_SECONDS,
            auth_require_tls=False,
            authenticator=self._authenticate_user,
            loop=asyncio.get_running_loop(),
        )
        self._auth_required = True  # as an argument, it would warn that TLS is not required

    # The part that the table of connections uses.

    @property
    def is_evictable(self) -> bool:
        """Whether no e-mail is being received."""
        return not self._is_busy

    @property
    def progress(self) -> int:
        """How far a connection without login is."""
        return int(self._has_spoken)

    def drop(self) -> None:
        """Close the connection at once."""
        self._is_closing = True
        transport: Any = self._original_transport or self.transport
        if transport is not None:
            transport.abort()

    def leave(self) -> None:
        """Close the connection with a reply (RFC 5321 §3.8)."""
        self.close_with("421 4.3.2 the service is closing")

    def close_with(self, status: str) -> None:
        """Send a reply and close the connection."""
        transport: Any = self.transport
        if transport is None or transport.is_closing():
            self.drop()
            return
        self._is_closing = True
        with suppress(RuntimeError, OSError):  # a TLS handshake is going on
            transport.write(f"{status}\r\n".encode())
        transport.close()

    async def end(self) -> None:
        """Close the connection at once, and wait for its task."""
        self.drop()
        task = self._handler_coroutine
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def sweep(self, now: float) -> None:
        """Close the connection if its run has ended or a time limit has passed."""
        limits, idle = self._table.limits, now - self._active_at
        if self.client is not None and not self.client.open:
            self.leave()
        elif (self._is_closing or not self._has_spoken) and idle > limits.first:
            self.drop()
        elif (self.client is None and now - self._opened_at > limits.head) or idle > limits.idle:
            self.close_with("421 4.4.2 nothing has come for too long")
        elif self._is_busy and idle > limits.body:
            self.close_with("421 4.4.2 no data has come for too long")

    # Transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Enter a new connection into the table. After STARTTLS it is the same one, and not logged in."""
        self.client = None
        is_new = self._original_transport is None
        self._is_encrypted = self._listener.is_tls or not is_new
        super().connection_made(transport)
        if is_new and not self._table.enter(self):
            self.close_with("421 4.3.2 too many connections")

    def connection_lost(self, error: Exception | None) -> None:
        """Remove it from the table."""
        self._table.leave(self)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Note that the client is active."""
        self._active_at, self._has_spoken = monotonic(), True
        if not self._is_closing:
            super().data_received(data)

    async def push(self, status: Any) -> None:
        """Send a reply, unless the connection is being closed."""
        if self._is_closing:
            raise ConnectionResetError
        text = status.decode("utf-8", "replace") if isinstance(status, bytes) else str(status)
        # A client may have sent bytes that are not UTF-8, and aiosmtpd repeats some of them.
        await super().push(text.encode("utf-8", "replace"))

    # Commands.

    async def handle_EHLO(  # noqa: N802  (the name that aiosmtpd looks for)
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        """Announce the extensions. The size limit is that of the sandbox; before the login, the largest of any."""
        session.host_name = hostname
        limits = self._listener if self.client is None else get_config(self.client)
        names = [name for name in EXTENSIONS if name != "STARTTLS" or not self._is_encrypted]
        lines = [self.hostname, f"SIZE {limits.max_message_bytes}", *names]
        return [f"250{' ' if place == len(lines) else '-'}{line}" for place, line in enumerate(lines, 1)]

    async def smtp_STARTTLS(self, arg: str) -> None:  # noqa: N802
        """Begin TLS, once."""
        if self._is_encrypted:
            await self.push("503 5.5.1 TLS is active already")
            return
        await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg: str) -> None:  # noqa: N802
        """Log in. The names of mechanisms are not case-sensitive (RFC 4422 §3.1)."""
        assert self.envelope is not None
        if self.envelope.mail_from:
            await self.push("503 5.5.1 AUTH is not allowed during an e-mail")
            return
        mechanism, _, rest = (arg or "").partition(" ")
        await super().smtp_AUTH(f"{mechanism.upper()} {rest}".strip())

    def _authenticate_user(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, login: LoginPassword
    ) -> AuthResult:
        user, password = (text.decode("utf-8", "replace") for text in login)
        client, problem = self._listener.log_in(user, password), ""
        if client is None:
            self._tries += 1
            problem = "535 5.7.8 the user or the password is wrong"
            if self._tries >= MAX_LOGIN_TRIES:
                self.close_with("421 4.7.0 too many authentication failures")
        elif get_config(client).smtp_requires_tls and not self._is_encrypted:
            problem = "538 5.7.11 send STARTTLS before AUTH"
        elif not self._table.claim(self, client.address):
            problem = "421 4.3.2 too many connections"
            self.close_with(problem)
        else:
            self.client = client
        return AuthResult(success=not problem, handled=False, message=problem or None)

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Begin an e-mail from one of the organization's own addresses."""
        config = get_config(self._find_client())
        if not config.owns_email(address):
            reason = f"{address[:80]} is not an address of this organization (expected: {', '.join(config.addresses)})"
            return await self._refuse(f"553 5.7.1 {reason}", sender=address)
        declared = _SIZE.search(" ".join(options))
        if declared is not None and int(declared[1]) > config.max_message_bytes:
            return await self._refuse(render_too_large(config.max_message_bytes), sender=address)
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
            return await self._refuse("553 5.1.3 the recipient is not an e-mail address", address)
        if not await client.read_state(lambda state: has_mailbox(address, state.config, state.directory)):
            return await self._refuse(f"550 5.1.1 there is no mailbox {address[:80]}", address)
        if address not in envelope.rcpt_tos:
            envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        """Receive an e-mail. aiosmtpd's own method would keep a line without end in memory."""
        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
            return
        assert self.envelope is not None
        if not self.envelope.rcpt_tos:
            await self.push("503 5.5.1 send RCPT first")
            return
        if arg:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        self._is_busy = True
        try:
            status = await self._receive(self._find_client(), self.envelope)
        finally:
            self._is_busy = False
            self._table.hold(self, "", 0)
        self.envelope = self._create_envelope()
        await self.push(status)

    async def handle_exception(self, error: Exception) -> str:
        """Record a bug of the simulator; a client that sends too long a line is told so."""
        if isinstance(error, ValueError | asyncio.LimitOverrunError):  # from the stream reader
            return "500 5.5.2 the line is too long or not valid"
        if self.client is not None:
            await self.client.fail(error)
        return "451 4.3.0 the server has failed"

    # E-mails.

    async def _receive(self, client: SandboxClient, envelope: Envelope) -> str:
        """Read the content up to its end, a dot alone in a line, and send the e-mail; return the reply.

        Nothing is kept of content that is too large.
        """
        limit, reader = get_config(client).max_message_bytes, cast(Any, self._reader)
        # The end may follow at once, and the line break before it is then that of the DATA command.
        reader._buffer[:0] = b"\r\n"
        content, size, problem, is_complete = bytearray(), 0, "", False
        while not is_complete:
            try:
                piece, is_complete = await reader.readuntil(END), True
            except asyncio.LimitOverrunError as overrun:
                piece = await reader.read(max(1, overrun.consumed))
            size += len(piece)
            if not problem and size > limit + len(END) + len(b"\r\n"):
                problem = render_too_large(limit)
            elif not problem and not self._table.hold(self, client.address, size):
                problem = "452 4.3.1 too many e-mails are being received at once; try again later"
            content += piece
            if problem:
                content.clear()
        # Without the dot that a client puts before a dot at the start of a line (RFC 5321 §4.5.2).
        data = bytes(content[: -len(b".\r\n")].replace(b"\r\n..", b"\r\n.")[len(b"\r\n") :])
        problem = problem or find_problem(data)
        if not problem:
            submission = EmailSubmission(
                sender=envelope.mail_from or "",
                recipients=tuple(envelope.rcpt_tos),
                content=data,
                allow_utf8_headers=bool(envelope.smtp_utf8),
            )
            return await self._call(SmtpCall(submit_email, submission))
        return await self._refuse(problem)

    async def _refuse(self, status: str, *recipients: str, sender: str = "") -> str:
        """Record that an e-mail or a recipient is refused; return the reply."""
        assert self.envelope is not None
        code, _, reason = status.partition(" ")
        refused = RefusedEmail(
            code=code,
            reason=to_printable(reason),
            sender=to_printable(sender or self.envelope.mail_from or ""),
            recipients=tuple(map(to_printable, recipients or self.envelope.rcpt_tos)),
        )
        return await self._call(SmtpCall(refuse_email, refused))

    async def _call(self, call: SmtpCall) -> str:
        """Call the sandbox; return its reply as one of SMTP. Raises ConnectionResetError if a fault breaks the
        connection.
        """
        reply = await self._find_client().call(call)
        if reply.lost:
            self.drop()
            raise ConnectionResetError
        if reply.status == RUN_ENDED:
            raise self._end_run()
        if reply.delivery is not IMMEDIATE and reply.delivery.over:
            await asyncio.sleep(reply.delivery.over)
        if reply.delivery.promised is not None:  # a fault cuts the reply
            transport: Any = self.transport
            transport.write(reply.body)
            transport.close()
            raise ConnectionResetError
        return reply.body.decode("utf-8", "replace") if reply.ok else render_refusal(reply)

    def _find_client(self) -> SandboxClient:
        if self.client is None or not self.client.open:
            raise self._end_run()
        return self.client

    def _end_run(self) -> ConnectionResetError:
        self.close_with("421 4.3.2 the run is over")
        return ConnectionResetError()


async def serve(listener: "Smtp", port: OpenPort, context: ssl.SSLContext, *, is_tls: bool = False) -> None:
    """Accept SMTP connections on a port."""
    # Below ERROR, aiosmtpd logs each command, with user names, which are credentials here.
    logging.getLogger("mail.log").setLevel(logging.ERROR)
    await port.serve(lambda opened: cast(Any, SmtpConnection(listener, context)), context if is_tls else None)
