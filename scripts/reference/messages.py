"""The pages about messages."""

from clerkship.reactions.communication import PORTAL_MEDIUM
from clerkship.reactions.fhir_to_messages.message import PORTAL_MEDIA, SENT_STATUSES
from clerkship.simulators.messages.checks import (
    MAX_ATTACHMENTS,
    MAX_MEDIA,
    MAX_MEDIA_BYTES,
    MAX_RECIPIENTS,
    MAX_SUBJECT,
)
from clerkship.simulators.messages.consent import HELP_WORDS, START_WORDS, STOP_WORDS
from clerkship.simulators.messages.delivery import UNDELIVERED_CODES
from clerkship.simulators.messages.segments import (
    MAX_GSM_ALONE,
    MAX_GSM_PART,
    MAX_SMS_LENGTH,
    MAX_UCS_ALONE,
    MAX_UCS_PART,
)
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
        keywords=rows(
            (", ".join(words), effect)
            for words, effect in (
                (STOP_WORDS, "opts out: later text messages are refused with 21610"),
                (START_WORDS, "opts in again, if the number has opted out"),
                (HELP_WORDS, "gets the automatic reply `help_text`"),
            )
        ),
    )


def portal_to_fhir_page() -> str:
    """Return the page about portal messages in a chart."""
    return render_page(
        "portal_to_fhir.md",
        medium=PORTAL_MEDIUM,
        media=", ".join(f"`{code}`" for code in sorted(PORTAL_MEDIA)),
        statuses=" or ".join(f"`{status}`" for status in SENT_STATUSES),
    )
