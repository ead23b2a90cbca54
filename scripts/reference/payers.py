"""The pages about payers."""

from collections.abc import Iterator

from clerkship.domains.payer.answer import Rejection
from clerkship.reactions.payer_codes import (
    REJECTION_REASONS,
    SERVICE_TYPES,
    get_rejection_code,
    list_category_codes,
)
from scripts.reference.render import render_page
from scripts.reference.tables import rows


def fhir_to_payer_page() -> str:
    """Return the page about eligibility requests in a chart."""
    return render_page(
        "fhir_to_payer.md",
        rejections=rows(_list_rejections()),
        service_types=rows(
            (f"`{name}`", ", ".join(f"`{code}`" for code in list_category_codes(name))) for name in SERVICE_TYPES
        ),
    )


def _list_rejections() -> Iterator[tuple[str, str]]:
    for reason in REJECTION_REASONS:
        code = get_rejection_code(Rejection(reason=reason, subject="subscriber", text=""))
        dependent_code = get_rejection_code(Rejection(reason=reason, subject="dependent", text=""))
        of_dependent = f"; `{dependent_code}` for a dependent" if dependent_code != code else ""
        yield f"`{reason}`", f"`{code}`{of_dependent}"
