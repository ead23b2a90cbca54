"""The pages about messages."""

from collections.abc import Iterator

from clerkship.reactions.communication import PORTAL_MEDIUM
from clerkship.reactions.fhir_to_messages import PORTAL_MEDIA, SENT_STATUSES
from clerkship.sandbox.request import MAX_BODY
from clerkship.simulators.messages.checks import (
    MAX_ATTACHMENTS,
    MAX_MEDIA,
    MAX_MEDIA_BYTES,
    MAX_RECIPIENTS,
    MAX_SUBJECT,
)
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.consent import HELP_WORDS, START_WORDS, STOP_WORDS
from clerkship.simulators.messages.delivery import UNDELIVERED_CODES
from clerkship.simulators.messages.email.connection import EXTENSIONS, MAX_LINE_BYTES, MAX_LOGIN_TRIES, SMTP_REFUSALS
from clerkship.simulators.messages.email.mime import MAX_DEPTH, MAX_HEADER_BYTES, MAX_PARTS
from clerkship.simulators.messages.email.smtp import LIMITS
from clerkship.simulators.messages.operations import MAX_PAGE
from clerkship.simulators.messages.segments import (
    MAX_GSM_ALONE,
    MAX_GSM_PART,
    MAX_SMS_LENGTH,
    MAX_UCS_ALONE,
    MAX_UCS_PART,
)
from clerkship.simulators.messages.twilio.errors import REFUSALS
from clerkship.simulators.messages.twilio.http import (
    IGNORED_PARAMETERS,
    REFUSED_PARAMETERS,
    REFUSED_REQUESTS,
    SIMULATED_PARAMETERS,
)
from clerkship.transports.outbound.event_webhook import MAX_ANSWER_BYTES, MAX_ANSWER_SECONDS
from scripts.reference.render import render_page
from scripts.reference.tables import rows


def messages_page() -> str:
    """Return the page of messages."""
    return render_page(
        "messages.md",
        MAX_RECIPIENTS=MAX_RECIPIENTS,
        MAX_ATTACHMENTS=MAX_ATTACHMENTS,
        MAX_MEDIA=MAX_MEDIA,
        MAX_MEDIA_BYTES=MAX_MEDIA_BYTES,
        MAX_SUBJECT=MAX_SUBJECT,
        MAX_SMS_LENGTH=MAX_SMS_LENGTH,
        gsm=f"{MAX_GSM_ALONE}/{MAX_GSM_PART}",
        ucs=f"{MAX_UCS_ALONE}/{MAX_UCS_PART}",
        undelivered=rows((f"`{code}`", f"{reach} number") for reach, code in UNDELIVERED_CODES.items()),
        limits=rows(_list_limits()),
        simulated=", ".join(f"`{name}`" for name in SIMULATED_PARAMETERS),
        ignored=", ".join(f"`{name}`" for name in IGNORED_PARAMETERS),
        refused=rows(
            (
                *((f"`{name}`", f"{code}: {reason}") for name, (code, reason) in REFUSED_PARAMETERS.items()),
                *((what.replace("{account}", "…"), reason) for what, reason in REFUSED_REQUESTS.items()),
            )
        ),
        twilio=rows((f"`{code}`", reason) for code, reason in REFUSALS.items()),
        extensions=", ".join(f"`{name}`" for name in EXTENSIONS),
        smtp=rows((f"`{code}`", reason) for code, reason in SMTP_REFUSALS.items()),
        keywords=rows(
            (", ".join(words), effect)
            for words, effect in (
                (STOP_WORDS, "opts out: later text messages are refused with 21610"),
                (START_WORDS, "opts in again, if the number has opted out"),
                (HELP_WORDS, "gets the automatic reply `help_text`, also after STOP"),
            )
        ),
    )


def _list_limits() -> Iterator[tuple[str, str]]:
    config = MessagesConfig()
    yield "messages in the sandbox", f"`max_messages`, {config.max_messages:,} by default"
    yield (
        "an e-mail or patient portal message with attachments",
        f"`max_message_bytes`, {config.max_message_bytes:,} by default",
    )
    yield "the body of a request over HTTP", f"{MAX_BODY:,} bytes; attachments in base64"
    yield "recipients, attachments of a message", f"{MAX_RECIPIENTS}, {MAX_ATTACHMENTS}"
    yield "entries of a page", f"{MAX_PAGE:,}"
    yield "parts of an e-mail, and how deep they are nested", f"{MAX_PARTS}, {MAX_DEPTH}"
    yield "the headers of an e-mail", f"{MAX_HEADER_BYTES:,} bytes"
    yield "a line of an e-mail", f"{MAX_LINE_BYTES} bytes"
    yield "SMTP connections at once", f"{LIMITS.connections}"
    yield "failed logins on a connection", f"{MAX_LOGIN_TRIES}"
    yield "an answer to a webhook", f"{MAX_ANSWER_SECONDS:g} s of wall time, {MAX_ANSWER_BYTES:,} bytes"


def portal_to_fhir_page() -> str:
    """Return the page about patient portal messages in a chart."""
    return render_page(
        "portal_to_fhir.md",
        medium=PORTAL_MEDIUM,
        media=", ".join(f"`{code}`" for code in sorted(PORTAL_MEDIA)),
        statuses=" or ".join(f"`{status}`" for status in SENT_STATUSES),
    )
