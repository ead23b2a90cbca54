"""The page about faxes."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

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
from clerkship.simulators.fax.outgoing import FaxCover
from clerkship.simulators.fax.sinch.request import IGNORED_PARAMETERS, REFUSED_REQUESTS, SIMULATED_PARAMETERS
from clerkship.simulators.fax.templates.fields import FaxFields
from clerkship.simulators.fax.templates.registry import TEMPLATES
from scripts.reference.render import render_page
from scripts.reference.tables import rows

REFUSALS = {
    "unknown_format": (
        "none of PDF, TIFF, PNG, JPEG and text, whatever its name says; DOCX and other files of office programs are "
        "refused by name: save them as PDF"
    ),
    "corrupt": "the file cannot be decoded",
    "encrypted": "a PDF with a password",
    "no_pages": "a document without a page",
    "too_many_pages": f"more than {MAX_PAGES} pages",
    "too_large": f"more than {MAX_DOCUMENT_BYTES:,} bytes, or an image with a side of more than {MAX_SIDE:,} dots",
    "too_slow": "the conversion took too long",
    "missing_library": "the extra `clerkship[fax]` is not installed",
}


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
        cover=", ".join(f"`{name}`" for name in FaxCover.model_fields),
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
    """Yield each field that has fields itself, with all of these; fields of the same kind together."""
    groups: dict[type[Frozen], dict[str, list[str]]] = {}
    for template, each in sorted(TEMPLATES.items()):
        _collect_groups(template, each.fields, groups)
    uses = Counter(name for names in groups.values() for name in names)
    for group, names in groups.items():
        shown = [
            f"`{name}`" + (f" of {', '.join(f'`{each}`' for each in templates)}" if uses[name] > 1 else "")
            for name, templates in names.items()
        ]
        yield ", ".join(shown), "; ".join(_describe_fields(group))


def _collect_groups(template: str, model: type[Frozen], groups: dict[type[Frozen], dict[str, list[str]]]) -> None:
    """Add the templates that have each field, by the kind of its own fields."""
    for name, info in model.model_fields.items():
        for group in _find_models(info.annotation):
            groups.setdefault(group, {}).setdefault(name, []).append(template)
            _collect_groups(template, group, groups)


def _find_models(annotation: Any) -> Iterator[type[Frozen]]:
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        yield annotation
    for part in get_args(annotation):
        yield from _find_models(part)


def _describe_fields(model: type[Frozen]) -> Iterator[str]:
    for name, info in model.model_fields.items():
        shown = f"**`{name}`**" if info.is_required() else f"`{name}`"
        yield shown + (f" ({info.description})" if info.description else "")


def _list_degradation() -> Iterator[tuple[str, str, str]]:
    for name, field in Degradation.model_fields.items():
        bounds = {type(bound).__name__.lower(): bound for bound in field.metadata}
        low, high = getattr(bounds.get("ge"), "ge", 0), getattr(bounds.get("le"), "le", 1)
        yield f"`{name}`", f"{low} to {high}", field.description or ""
