"""The page of the reference about the FHIR server: what is simulated, and what is refused."""

from collections.abc import Iterable
from typing import get_args

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.parameters import parameters_of, refused_parameters
from clerkship.fhir.search.criteria import DEEPEST, MODIFIERS
from clerkship.fhir.search.include import MAX_INCLUDED, MAX_ROUNDS
from clerkship.fhir.search.parse import MAX_INCLUDES, MAX_PARAMETERS, MAX_SORT_KEYS, MAX_VALUES, RESULTS
from clerkship.fhir.search.query import Prefix
from clerkship.fhir.search.values import MAX_VALUES_PER_PARAMETER
from clerkship.sandbox.exchange import MAX_BODY
from clerkship.simulators.fhir import patch
from clerkship.simulators.fhir.body import MAX_BUNDLE_ELEMENTS, MAX_RESOURCE_ELEMENTS
from clerkship.simulators.fhir.capabilities import EXTENDED_OPERATIONS, SYSTEM_INTERACTIONS, TYPE_INTERACTIONS
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.entries import MAX_CONDITIONS
from clerkship.simulators.fhir.routes import ROUTES
from scripts.fhir_limits import ACCEPTED, NOT_DONE

INTRODUCTION = """# FHIR R4

What the sandbox of kind `fhir` does of R4's REST (its http chapter), written from the tables that its
CapabilityStatement (`GET /metadata`) is made of. How it is reached and configured is under
[simulators](simulators.md#fhir), why it is so under [decisions](../decisions/fhir_sandbox.md).
"""
PREFIXES = {
    "eq": "in the range that is given",
    "ne": "not in it",
    "gt": "some of it after, or more",
    "ge": "`gt` or `eq`",
    "lt": "some of it before, or less",
    "le": "`lt` or `eq`",
    "sa": "all of it after",
    "eb": "all of it before",
    "ap": "near it: a tenth of a number, of a date a tenth of the time between it and now",
}
STATUSES = """## Answers

| | status |
|---|---|
| read, update, patch, search, history, `$validate`, a batch or transaction that was done | 200 |
| create; update of what was not there | 201, with `Location`, `ETag` and `Last-Modified` |
| delete | 204 |
| conditional create of what is there; delete of what is not | 200: nothing was changed |
| the client has that version (`If-None-Match`, `If-Modified-Since`) | 304 |
| not JSON, not R4, an id that is not its address's, a search that cannot be read | 400 |
| no token, a wrong one, one that has expired | 401 |
| the server is read-only | 403 |
| not there; not a resource type | 404 |
| not done here | 405 |
| not in JSON | 406, 415 |
| gone | 410 |
| another version than `If-Match`; a condition that means several | 412 |
| too large, too many entries or elements | 413 |
| R4, and yet not to be kept: a reference to what is not there, a patch that does not fit | 422 |

Every refusal is an OperationOutcome that names all it found and where, and a `sandbox.refused` in the log.
`Prefer: return=minimal`, `representation` (the default; in Bundles `minimal` is) and `OperationOutcome` say what a
write shows; `Prefer: handling=lenient` has unknown parameters left out and reported instead of refused.
"""


def fhir_page(head: str) -> str:
    """Interactions, search, operations, limits and refusals."""
    sections = [head, INTRODUCTION, _interactions(), STATUSES, _search(), _parameters(), _bundles()]
    sections += [_limits(), _not_done()]
    return "\n".join(sections).rstrip() + "\n"


def _interactions() -> str:
    told = {**TYPE_INTERACTIONS, **{name: ", ".join(codes) for name, codes in SYSTEM_INTERACTIONS.items()}}
    told |= {name: url.rpartition("/")[2] for name, (_, url) in EXTENDED_OPERATIONS.items()}
    rows = "\n".join(
        f"| `{route.method} {route.path}` | {told.get(route.operation.name, '')} | {route.operation.description} |"
        for route in ROUTES
    )
    return f"""## Interactions

| request | in the CapabilityStatement | |
|---|---|---|
{rows}
"""


def _search() -> str:
    rows = "\n".join(f"| {sort} | {_listed(MODIFIERS.get(sort, ()))} |" for sort in sorted(MODIFIERS))
    prefixes = "\n".join(f"| `{prefix}` | {PREFIXES[prefix]} |" for prefix in get_args(Prefix))
    return f"""## Search

All {len(RESOURCE_TYPES)} types, by every parameter of the table below; `_has`, chains (`subject:Patient.name`), and
`:missing` on all of them. Beside them {_listed(RESULTS)}. A page has `_count` matches, or the config's `page_size`.
Links are stable: a page begins where the last one ended, whatever was written in between.

| parameters of type | modifiers |
|---|---|
{rows}

Before a date, a number or a quantity may stand one of these prefixes; without one it is `eq`:

| prefix | |
|---|---|
{prefixes}

A date covers all of its day, month or year, in the zone of the config where it says none of its own. A `+` in a query
is a blank; before the zone of a date it is taken for the `+` it was meant to be.
"""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _parameters() -> str:
    common = parameters_of("Resource")
    rows = "\n".join(_row(type, set(common)) for type in sorted(RESOURCE_TYPES))
    refused = refused_parameters("Resource")
    every = "\n".join(f"| `{name}` | {why} |" for name, why in sorted(refused.items()))
    return f"""## Search parameters

On every type: {_listed(common)}. Refused on every type:

| | |
|---|---|
{every}

| type | parameters of its own |
|---|---|
{rows}
"""


def _row(type: str, common: set[str]) -> str:
    """One line: its parameters by name, those of a sort together."""
    sorts: dict[str, list[str]] = {}
    for name, found in sorted(parameters_of(type).items()):
        if name not in common:
            sorts.setdefault(found.type, []).append(name)
    told = [f"{sort} {_listed(names)}" for sort, names in sorted(sorts.items())]
    refused = _listed(set(refused_parameters(type)) - set(refused_parameters("Resource")))
    return f"| {type} | {'; '.join([*told, *([f'refused {refused}'] if refused else [])])} |"


def _bundles() -> str:
    config = FhirConfig()
    return f"""## Batches, transactions and patches

In a Bundle may stand: {_listed(route.operation.name for route in ROUTES if route.in_bundle)}.
At most {config.max_entries} entries (config `max_entries`), nested {config.max_depth} deep at most (`max_depth`).

A transaction is done in the order DELETE, POST, PUT and PATCH, GET; all of it or none, and one that is refused leaves
nothing, not an id. References, `uri` and `url` elements and links in narratives that name another entry's `fullUrl`
become what that entry is called here; `Patient?identifier=…` as a reference must mean one resource. Two entries that
change one resource are refused.

A patch has at most {patch.MAX_OPERATIONS} operations of RFC 6902, `test` among them, done all or none.
"""


def _limits() -> str:
    config = FhirConfig()
    rows = "\n".join(
        f"| {what} | {limit:,} | {status} |"
        for what, limit, status in (
            ("bytes of a body", MAX_BODY, 413),
            ("elements of a resource", MAX_RESOURCE_ELEMENTS, "413; 422 where a patch makes them"),
            ("elements of a batch, a transaction or a Bundle that is kept", MAX_BUNDLE_ELEMENTS, 413),
            ("entries of a batch or transaction (config `max_entries`)", config.max_entries, 413),
            ("… of them with a condition (`ifNoneExist`, or a search as the address of a write)", MAX_CONDITIONS, 413),
            ("levels of nesting (config `max_depth`)", config.max_depth, 400),
            ("operations of a patch", patch.MAX_OPERATIONS, 400),
            ("elements that a patch adds, moves and copies", patch.MAX_PATCHED_ELEMENTS, 422),
            ("parameters of a search", MAX_PARAMETERS, 400),
            ("values of one parameter", MAX_VALUES_PER_PARAMETER, 400),
            ("values of all parameters of a search", MAX_VALUES, 400),
            ("links of a chain", DEEPEST, 400),
            ("keys of `_sort`", MAX_SORT_KEYS, 400),
            ("different `_include` and `_revinclude`; repeated ones count once", MAX_INCLUDES, 400),
            ("rounds of `:iterate`", MAX_ROUNDS, 400),
            ("resources included on a page", MAX_INCLUDED, 400),
            ("matches on a page (config `max_page_size`)", config.max_page_size, "a smaller page is shown"),
        )
    )
    return f"""## Limits

The work of one request is bounded. A request that goes over a limit is refused, and the OperationOutcome names the
limit; its code is `too-costly`, for bytes `too-long`, and for what a patch adds `processing`.
An element is any JSON value: an object, an array, a text, a number, `true`, `false`.

| what | at most | status |
|---|---:|---|
{rows}
"""


def _not_done() -> str:
    rows = "\n".join(f"| {one.what} | {one.status} | {one.instead} |" for one in NOT_DONE)
    let = "\n".join(f"- {text}" for text in ACCEPTED)
    return f"""## Not simulated

| what | status | instead |
|---|---|---|
{rows}

Not checked:

{let}
"""
