"""The page about faxes."""

from collections.abc import Iterator

from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.document import MAX_DOCUMENT_BYTES, MAX_PAGES, MAX_SIDE
from clerkship.formats.fax_pages.page import LETTER_HEIGHT, PAGE_WIDTH
from clerkship.model.frozen import Frozen
from clerkship.simulators.fax.checks import (
    MAX_DOCUMENTS,
    MAX_HEADER_TEXT,
    MAX_LABELS,
    MAX_RETRIES,
    MAX_RETRY_DELAY,
)
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.sinch.request import IGNORED_PARAMETERS, REFUSED_REQUESTS, SIMULATED_PARAMETERS
from clerkship.simulators.fax.templates.fields import (
    FaxedClinician,
    FaxedCode,
    FaxedInsurance,
    FaxedPatient,
    FaxFields,
    FaxStamp,
    LetterheadFields,
    RecipientFields,
)
from clerkship.simulators.fax.templates.registry import TEMPLATES
from scripts.reference.render import render_page
from scripts.reference.tables import rows

REFUSALS = {
    "unknown_format": "none of PDF, TIFF, PNG, JPEG and text, whatever its name says",
    "corrupt": "the file cannot be decoded",
    "encrypted": "a PDF with a password",
    "no_pages": "a document without a page",
    "too_many_pages": f"more than {MAX_PAGES} pages",
    "too_large": f"more than {MAX_DOCUMENT_BYTES:,} bytes, or an image with a side of more than {MAX_SIDE:,} dots",
    "too_slow": "the conversion took too long",
    "missing_library": "the extra `clerkship[fax]` is not installed",
}
GROUPS: dict[str, type[Frozen]] = {
    "sender": LetterheadFields,
    "recipient": RecipientFields,
    "patient": FaxedPatient,
    "insurance": FaxedInsurance,
    "signer": FaxedClinician,
    "diagnoses": FaxedCode,
    "stamp": FaxStamp,
}
"""Fields of templates that have fields themselves."""


def fax_page() -> str:
    """Return the page of the fax simulator."""
    return render_page(
        "fax.md",
        WIDTH=f"{PAGE_WIDTH:,}",
        standard=f"{LETTER_HEIGHT['standard']:,}",
        fine=f"{LETTER_HEIGHT['fine']:,}",
        refusals=rows((f"`{code}`", reason) for code, reason in REFUSALS.items()),
        limits=rows(_list_limits()),
        templates=rows(_list_templates()),
        groups=rows(_list_groups()),
        common=", ".join(f"`{name}`" for name in FaxFields.model_fields if name not in ("sender", "date")),
        degradation=rows(_list_degradation()),
        simulated=", ".join(f"`{name}`" for name in SIMULATED_PARAMETERS),
        ignored=", ".join(f"`{name}`" for name in IGNORED_PARAMETERS),
        refused=rows(REFUSED_REQUESTS.items()),
    )


def _list_limits() -> Iterator[tuple[str, str]]:
    yield "faxes in the sandbox", f"`max_faxes`, {FaxConfig().max_faxes:,} by default"
    yield "pages, documents of a fax", f"{MAX_PAGES}, {MAX_DOCUMENTS}"
    yield "bytes of a document", f"{MAX_DOCUMENT_BYTES:,}"
    yield "side of an image", f"{MAX_SIDE:,} dots"
    yield "retries, seconds between them", f"{MAX_RETRIES}, {MAX_RETRY_DELAY:,}"
    yield "name in the header line", f"{MAX_HEADER_TEXT} characters"
    yield "labels of a fax", f"{MAX_LABELS}"


def _list_templates() -> Iterator[tuple[str, str, str]]:
    common = set(FaxFields.model_fields)
    for name, template in sorted(TEMPLATES.items()):
        fields = template.fields.model_fields
        own = [
            f"**`{field}`**" if info.is_required() else f"`{field}`"
            for field, info in fields.items()
            if field not in common
        ]
        yield f"`{name}`", template.description, ", ".join(("**`sender`**", "`date`", *own))


def _list_groups() -> Iterator[tuple[str, str]]:
    for name, group in GROUPS.items():
        yield f"`{name}`", ", ".join(f"`{field}`" for field in group.model_fields)


def _list_degradation() -> Iterator[tuple[str, str, str]]:
    for name, field in Degradation.model_fields.items():
        bounds = {type(bound).__name__.lower(): bound for bound in field.metadata}
        low, high = getattr(bounds.get("ge"), "ge", 0), getattr(bounds.get("le"), "le", 1)
        yield f"`{name}`", f"{low} to {high}", field.description or ""
