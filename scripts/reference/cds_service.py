"""The page about CDS services that the agent calls."""

from collections.abc import Iterator

from clerkship.formats.cds_hooks.drugs import load_drugs
from clerkship.formats.cds_hooks.validation import MAX_CARDS
from clerkship.sandbox.authentication.jwt import ACCEPTED_ALGORITHMS, MAX_CLOCK_SKEW, MAX_JWT_LIFETIME
from clerkship.sandbox.request import MAX_BODY
from clerkship.simulators.cds_service.config import DEFAULT_SERVICES, PREFETCH_OF_RULES, RuleName
from clerkship.simulators.cds_service.state import MAX_ORDERS
from scripts.reference.render import render_page
from scripts.reference.tables import rows

_INDICATORS: dict[RuleName, str] = {
    "allergy": "`critical`; `warning` for a drug of another class that may cross-react",
    "interaction": "that of the interaction",
    "duplicate_order": "`warning`",
}


def cds_service_page() -> str:
    """Return the page of CDS services that the agent calls."""
    table = load_drugs()
    return render_page(
        "cds_service.md",
        MAX_BODY=f"{MAX_BODY:,}",
        MAX_CARDS=MAX_CARDS,
        MAX_ORDERS=MAX_ORDERS,
        algorithms=", ".join(ACCEPTED_ALGORITHMS[:-1]) + f" or {ACCEPTED_ALGORITHMS[-1]}",
        lifetime=int(MAX_JWT_LIFETIME.total_seconds()),
        skew=int(MAX_CLOCK_SKEW.total_seconds()),
        services=rows(
            (f"`{each.id}`", f"`{each.hook}`", ", ".join(f"`{rule}`" for rule in each.rules))
            for each in DEFAULT_SERVICES
        ),
        rules=rows(
            (f"`{rule}`", _INDICATORS[rule], ", ".join(f"`{key}`" for key in templates))
            for rule, templates in PREFETCH_OF_RULES.items()
        ),
        duplicate_days=DEFAULT_SERVICES[0].duplicate_days,
        ingredients=len(table.ingredients),
        classes=len(table.classes),
        cross_classes=", ".join(name for name, each in table.classes.items() if each.cross_reacts),
        drugs=rows(_list_drugs()),
        interactions=rows(_list_interactions()),
    )


def _list_drugs() -> Iterator[tuple[str, str]]:
    table = load_drugs()
    for name in table.classes:
        yield name, ", ".join(key for key, each in table.ingredients.items() if name in each.classes)
    yield "none of these", ", ".join(key for key, each in table.ingredients.items() if not each.classes)


def _list_interactions() -> Iterator[tuple[str, str, str]]:
    for each in load_drugs().interactions:
        yield " and ".join(each.between), f"`{each.indicator}`", each.text
