"""SMTP connections: aiosmtpd's protocol, with logins, limits, and e-mail handed to the sandbox."""

import asyncio
import logging
import ssl
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from clerkship.kit.wall import monotonic
from clerkship.sandbox.listener import SandboxClient
from clerkship.simulators.messages.email.content import DataReader, SmtpStatus, check_content
from clerkship.simulators.messages.email.handler import EmailHandler, read_limit
from clerkship.transports.tcp import OpenPort

if TYPE_CHECKING:
    from clerkship.simulators.messages.email.smtp import Smtp

HOST_NAME = "mail.sandbox.example"
IDENT = "ESMTP"
MAX_LOGIN_TRIES = 5
MAX_ERRORS = 50
"""Replies of 4xx and 5xx, except for recipients beyond the limit."""
MAX_EXCESS_RECIPIENTS = 1000
"""Recipients beyond the limit that are refused before the connection is closed."""
MAX_OTHER_COMMANDS = 100
"""Commands without an e-mail, such as NOOP, between two e-mails."""
MAX_CONNECTION_SECONDS = 3600.0
COMMAND_BYTES = 1000
"""The longest command; the limit of RFC 5321 §4.5.3.1.4 grows with extensions and long addresses."""
OTHER_COMMANDS = ("NOOP", "RSET", "EHLO", "HELO", "HELP", "VRFY", "EXPN", "AUTH")
FIRST_ERROR = "4"
TOO_MANY_RECIPIENTS = "452"


class SmtpConnection(SMTP):
    """One connection, and the sandbox it has logged in to."""

    AuthLoginUsernameChallenge = "Username:"
    AuthLoginPasswordChallenge = "Password:"

    def __init__(self, listener: "Smtp", context: ssl.SSLContext) -> None:
        # aiosmtpd's own table is shared by all connections and cleared by each new one.
        self.command_size_limits = defaultdict(lambda: COMMAND_BYTES)
        self.command_size_limit = COMMAND_BYTES
        self._listener, self._table = listener, listener.tcp.table
        self.client: SandboxClient | None = None
        self._tries = self._errors = self._excess = self._others = 0
        self._is_busy = self._has_spoken = self._is_closing = False
        self._opened_at = self._active_at = monotonic()
        super().__init__(
            EmailHandler(self),
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
        for name in OTHER_COMMANDS:
            self._smtp_methods[name] = self._count_others(self._smtp_methods[name])

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
        super().connection_made(transport)
        if is_new and not self._table.enter(self):
            self.close_with("421 4.3.2 too many connections")

    def connection_lost(self, error: Exception | None) -> None:
        """Remove it from the table."""
        self._table.hold(self, "", 0)
        self._table.leave(self)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Note that the client is active."""
        self._active_at, self._has_spoken = monotonic(), True
        if not self._is_closing:
            super().data_received(data)

    async def push(self, status: Any) -> None:
        """Send a reply; after too many errors, close the connection."""
        if self._is_closing:
            raise ConnectionResetError
        text = status.decode("utf-8", "replace") if isinstance(status, bytes) else str(status)
        if text.startswith(TOO_MANY_RECIPIENTS):
            self._excess += 1
        elif text >= FIRST_ERROR:
            self._errors += 1
        if self._errors > MAX_ERRORS or self._excess > MAX_EXCESS_RECIPIENTS:
            self.close_with("421 4.7.0 too many errors")
            raise ConnectionResetError
        # A client may have sent bytes that are not UTF-8, and aiosmtpd repeats some of them.
        await super().push(text.encode("utf-8", "replace"))

    # Commands.

    def _count_others(self, method: Any) -> Any:
        async def run(arg: str | None) -> None:
            self._others += 1
            if self._others > MAX_OTHER_COMMANDS:
                self.close_with("421 4.7.0 too many commands without an e-mail")
                raise ConnectionResetError
            await method(arg)

        run.__smtp_syntax__ = getattr(method, "__smtp_syntax__", "")  # type: ignore[attr-defined]
        run.__smtp_syntax_extended__ = run.__smtp_syntax_when__ = None  # type: ignore[attr-defined]
        return run

    async def smtp_STARTTLS(self, arg: str) -> None:  # noqa: N802
        """Begin TLS, once."""
        if self._tls_protocol is not None:
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
        client = self._listener.log_in(user, password)
        if client is None:
            self._tries += 1
            if self._tries >= MAX_LOGIN_TRIES:
                self.close_with("421 4.7.0 too many authentication failures")
            return AuthResult(success=False, handled=False, message="535 5.7.8 the user or the password is wrong")
        if getattr(client.config, "smtp_requires_tls", False) and self._tls_protocol is None:
            return AuthResult(success=False, handled=False, message="538 5.7.11 send STARTTLS before AUTH")
        if not self._table.claim(self, client.address):
            self.close_with("421 4.3.2 too many connections")
            return AuthResult(success=False, handled=False, message="421 4.3.2 too many connections")
        self.client = client
        return AuthResult(success=True)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        """Receive an e-mail. aiosmtpd's own method would keep a line without end in memory."""
        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
            return
        assert self.envelope is not None
        assert self.client is not None
        if not self.envelope.rcpt_tos:
            await self.push("503 5.5.1 send RCPT first")
            return
        if arg:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        self._is_busy = True
        try:
            status = await self._receive(self.client, self.envelope)
        finally:
            self._is_busy = False
            self._table.hold(self, "", 0)
        self._others = 0
        self.envelope = self._create_envelope()
        await self.push(status)

    async def _receive(self, client: SandboxClient, envelope: Envelope) -> str:
        handler: EmailHandler = self.event_handler
        limit = read_limit(client)
        data = DataReader(self._reader, limit, lambda size: self._table.hold(self, client.address, size))
        try:
            content = await data.read()
            check_content(content)
        except SmtpStatus as problem:
            status = await handler.refuse(client, envelope, problem.code, problem.reason)
            if data.is_cut:
                self.close_with(status)
                raise ConnectionResetError from None
            return status
        return await handler.submit(client, envelope, content)


async def serve(listener: "Smtp", port: OpenPort, context: ssl.SSLContext) -> None:
    """Accept SMTP connections on a port."""
    # Below ERROR, aiosmtpd logs each command, with user names, which are credentials here.
    logging.getLogger("mail.log").setLevel(logging.ERROR)
    await port.serve(lambda opened: cast(Any, SmtpConnection(listener, context)))
