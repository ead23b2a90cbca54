"""The page about payer portals."""

from collections.abc import Iterator

from clerkship.payer.events import AppealDecided, AuthorizationDetermined
from clerkship.reactions.portal_to_messages import SENDER_NUMBER
from clerkship.simulators.portal.config import AttachmentConfig, FrictionConfig
from clerkship.simulators.portal.desk import HUB_NAME
from clerkship.simulators.portal.drafts import MAX_DRAFTS, MAX_LOOSE_DOCUMENTS
from clerkship.simulators.portal.follow_up import MAX_REASON
from clerkship.simulators.portal.pages.sign_in import MAX_WRONG_CODES, PASSWORD_RULES
from clerkship.simulators.portal.questions.shipped import load_shipped_sets
from clerkship.simulators.portal.uploads import MAX_NAME_LENGTH, describe_accepted
from scripts.reference.render import render_page
from scripts.reference.tables import rows

REFUSALS = {
    "a form without a required field": (422, "the field, and what to enter: `Enter a procedure code, then add it.`"),
    "a code that is unknown or has ended": (422, "the code, and since when it is not valid"),
    "a member whom the payer does not find, or who is not covered": (422, "the payer's own reason"),
    "a request that the payer has already": (422, "the payer's own reason, with the number of that request"),
    "a value that is not listed, or an answer that is not asked for": (422, "`… is not one of those listed.`"),
    "a file that is not accepted": (422, "why, and what to do: `Save it as PDF, and upload that.`"),
    "a draft that was submitted already": (409, "`This request was already submitted. Its reference number is …`"),
    "a step of the form before the earlier ones are complete": (409, "`Go back to the step “…”.`"),
    "a draft that was changed in another window": (409, "`Your changes were not saved.`, with `single_tab`"),
    "an action that the status of a request does not allow": (409, "the status, and what is needed"),
    "a page that the account has no right to": (403, "`Your account does not have access to claims.`"),
    "a form without the token of its session": (403, "`This form is out of date … Nothing was changed.`"),
    "a number that does not exist, or belongs to another practice or payer": (404, "`There is no …`"),
}
"""What is refused, with the status and the words."""


def portal_page() -> str:
    """Return the page of the payer portal."""
    return render_page(
        "portal.md",
        hub=HUB_NAME,
        friction=rows((f"`{name}`", info.description) for name, info in FrictionConfig.model_fields.items()),
        sets=rows(_list_sets()),
        refusals=rows((what, status, words) for what, (status, words) in REFUSALS.items()),
        limits=rows(_list_limits()),
        accepted=describe_accepted(AttachmentConfig()),
        passwords=", ".join(PASSWORD_RULES),
        wrong_codes=MAX_WRONG_CODES,
        sender=SENDER_NUMBER,
        determined=AuthorizationDetermined.kind,
        decided=AppealDecided.kind,
    )


def _list_sets() -> Iterator[tuple[str, str, str]]:
    for each in load_shipped_sets():
        yield f"`{each.id}`", each.title, ", ".join(each.procedure_codes)


def _list_limits() -> Iterator[tuple[str, str]]:
    yield "drafts of a practice", f"{MAX_DRAFTS}"
    yield (
        "documents that were uploaded over the REST API and sent with nothing yet",
        f"{MAX_LOOSE_DOCUMENTS}",
    )
    yield "files of a request, bytes of a file", "`attachments.max_files`, `attachments.max_bytes`"
    yield "characters of the name of a file", f"{MAX_NAME_LENGTH}"
    yield "characters of the reason of an appeal", f"{MAX_REASON:,}"
