"""The page about the FHIR server."""

from typing import get_args

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.search.criteria import MAX_CHAIN_LENGTH, MODIFIERS
from clerkship.formats.fhir.search.include import MAX_INCLUDED
from clerkship.formats.fhir.search.parse import (
    IGNORED_RESULT_PARAMETERS,
    MAX_PARAMETERS,
    MAX_SORT_KEYS,
    MAX_VALUES,
    RESULT_PARAMETERS,
)
from clerkship.formats.fhir.search.query import Prefix
from clerkship.formats.fhir.search.values import MAX_VALUES_PER_PARAMETER
from clerkship.formats.fhir.search_parameters import get_parameters, refused_parameters
from clerkship.formats.fhir.terminology import load_table
from clerkship.sandbox.request import MAX_BODY
from clerkship.simulators.fhir import json_patch
from clerkship.simulators.fhir.body import MAX_BUNDLE_ELEMENTS, MAX_RESOURCE_ELEMENTS
from clerkship.simulators.fhir.bundle_entries import MAX_CONDITIONS
from clerkship.simulators.fhir.capabilities import EXPORTS, EXTENDED_OPERATIONS, SYSTEM_INTERACTIONS, TYPE_INTERACTIONS
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.export import MAX_EXPORTS
from clerkship.simulators.fhir.routes import ROUTES
from clerkship.simulators.fhir.subscriptions import MAX_SUBSCRIPTIONS
from clerkship.simulators.fhir.terminology import TERMINOLOGY_OPERATIONS
from scripts.fhir_limits import ACCEPTED, NOT_DONE
from scripts.reference.render import render_page
from scripts.reference.tables import code_list, rows

_DECISION = "../decisions/0013-fhir-sandbox.md"
_PREFIXES = {
    "eq": "within the given range",
    "ne": "not within it",
    "gt": "partly after or above it",
    "ge": "`gt` or `eq`",
    "lt": "partly before or below it",
    "le": "`lt` or `eq`",
    "sa": "completely after it",
    "eb": "completely before it",
    "ap": "near it: within 10 % of a number, or of the time between a date and now",
}


def fhir_page() -> str:
    """Return the page of the FHIR server."""
    refused = refused_parameters("Resource")
    common = get_parameters("Resource")
    return render_page(
        "fhir.md",
        DECISION=_DECISION,
        MAX_OPERATIONS=json_patch.MAX_OPERATIONS,
        MAX_SUBSCRIPTIONS=MAX_SUBSCRIPTIONS,
        common=code_list(common),
        config=FhirConfig(),
        in_bundle=code_list(route.operation.name for route in ROUTES if route.in_bundle),
        ignored=rows((f"`{name}`", instead) for name, instead in IGNORED_RESULT_PARAMETERS.items()),
        interactions=_interactions(),
        limits=_limits(),
        modifiers=rows((type, code_list(MODIFIERS[type])) for type in sorted(MODIFIERS)),
        not_checked="\n".join(f"- {text}" for text in ACCEPTED),
        not_simulated=rows((feature.what, feature.status, feature.instead) for feature in NOT_DONE),
        parameters=rows((type, _parameters(type, set(common))) for type in sorted(RESOURCE_TYPES)),
        prefixes=rows((f"`{prefix}`", _PREFIXES[prefix]) for prefix in get_args(Prefix)),
        refused=rows((f"`{name}`", reason) for name, reason in sorted(refused.items())),
        results=code_list(RESULT_PARAMETERS),
        sets=f"{len(load_table()['sets'])} of {len(load_table()['sets']) + len(load_table()['unlisted'])}",
        terminology=rows((f"`{path}`", code_list(known)) for path, (_, known) in TERMINOLOGY_OPERATIONS.items()),
        types=len(RESOURCE_TYPES),
    )


def _interactions() -> str:
    codes = {**TYPE_INTERACTIONS, **{name: ", ".join(codes) for name, codes in SYSTEM_INTERACTIONS.items()}}
    urls = [*(url for _, url in EXTENDED_OPERATIONS.values()), *EXPORTS.values()]
    names = [*EXTENDED_OPERATIONS, "export", "patient_export", "group_export"]
    codes |= {name: url.rpartition("/")[2] for name, url in zip(names, urls, strict=True)}
    return rows(
        (f"`{route.method} {route.path}`", codes.get(route.operation.name, ""), route.operation.description)
        for route in ROUTES
    )


def _parameters(type: str, common: set[str]) -> str:
    """Return the search parameters of a resource type, grouped by their type."""
    groups: dict[str, list[str]] = {}
    for name, parameter in sorted(get_parameters(type).items()):
        if name not in common:
            groups.setdefault(parameter.type, []).append(name)
    cells = [f"{group} {code_list(names)}" for group, names in sorted(groups.items())]
    refused = code_list(set(refused_parameters(type)) - set(refused_parameters("Resource")))
    return "; ".join([*cells, *([f"refused {refused}"] if refused else [])])


def _limits() -> str:
    config = FhirConfig()
    limits: tuple[tuple[str, int, int | str], ...] = (
        ("bytes of a body", MAX_BODY, 413),
        ("elements of a resource", MAX_RESOURCE_ELEMENTS, "413; 422 if a patch adds them"),
        ("elements of a batch, a transaction or a stored Bundle", MAX_BUNDLE_ELEMENTS, 413),
        ("entries of a batch or transaction (config `max_entries`)", config.max_entries, 413),
        ("entries with a condition (`ifNoneExist`, or a search as the URL of a write)", MAX_CONDITIONS, 413),
        ("levels of nesting (config `max_depth`)", config.max_depth, 400),
        ("operations of a patch", json_patch.MAX_OPERATIONS, 400),
        ("elements that a patch adds, moves and copies", json_patch.MAX_PATCHED_ELEMENTS, 422),
        ("parameters of a search", MAX_PARAMETERS, 400),
        ("values of one parameter", MAX_VALUES_PER_PARAMETER, 400),
        ("values of all parameters of a search", MAX_VALUES, 400),
        ("links of a chain", MAX_CHAIN_LENGTH, 400),
        ("keys of `_sort`", MAX_SORT_KEYS, 400),
        ("resources included on a page", MAX_INCLUDED, 400),
        ("bulk exports that are not deleted", MAX_EXPORTS, 429),
        ("matches on a page (config `max_page_size`)", config.max_page_size, "the page is smaller"),
    )
    return rows((name, f"{limit:,}", status) for name, limit, status in limits)
