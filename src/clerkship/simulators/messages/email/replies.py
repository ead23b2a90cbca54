"""The extensions and the refusals of the SMTP server, as data for the listener and the documentation."""

from collections.abc import Mapping

EXTENSIONS = ("PIPELINING", "8BITMIME", "SMTPUTF8", "STARTTLS", "AUTH LOGIN PLAIN", "HELP")
"""What EHLO announces besides SIZE; STARTTLS until TLS is active."""
SMTP_REFUSALS: Mapping[str, str] = {
    "421": "closes the connection: too many connections, errors, failed logins or commands without an e-mail; nothing "
    "has come for too long; the run is over",
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
