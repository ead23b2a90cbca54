"""Prefetch templates: the queries of FHIR that a service wants answered with each call."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote

from clerkship.formats.cds_hooks.hooks import load_hooks

MAX_TEMPLATES = 50
"""Prefetch keys of one service that are answered."""
MAX_TEMPLATE = 2_000
USER_TOKENS = {
    "userPractitionerId": "Practitioner",
    "userPractitionerRoleId": "PractitionerRole",
    "userPatientId": "Patient",
    "userRelatedPersonId": "RelatedPerson",
}
"""Tokens that stand for the id of the user, if the user is such a resource."""
_TOKEN = re.compile(r"\{\{\s*([^{}]{0,200}?)\s*\}\}")
_READ = re.compile(r"([A-Z][A-Za-z]{1,63})/([A-Za-z0-9.-]{1,64})", re.ASCII)
_SEARCH = re.compile(r"([A-Z][A-Za-z]{1,63})\?(.*)", re.ASCII | re.DOTALL)


class UnresolvedTemplate(ValueError):
    """A template cannot be resolved: its key is left out of the request."""


class ReadQuery(NamedTuple):
    """Read one resource."""

    type: str
    id: str
    interaction: Literal["read"] = "read"


class TypeQuery(NamedTuple):
    """Search the resources of one type."""

    type: str
    parameters: tuple[tuple[str, str], ...]
    interaction: Literal["search"] = "search"


PrefetchQuery = ReadQuery | TypeQuery


def resolve_template(template: str, hook: str, context: Mapping[str, Any]) -> str:
    """Replace the tokens of a template by values of the context, and return a relative URL of FHIR.

    Raises UnresolvedTemplate for an unknown token, and for one whose value the context does not have.
    """
    if len(template) > MAX_TEMPLATE:
        raise UnresolvedTemplate(f"a template has at most {MAX_TEMPLATE} characters, not {len(template)}")
    return _TOKEN.sub(lambda match: _resolve_token(match[1], hook, context), template)


def _resolve_token(token: str, hook: str, context: Mapping[str, Any]) -> str:
    if token in USER_TOKENS:
        type, _, id = str(context.get("userId", "")).partition("/")
        if type != USER_TOKENS[token] or not id:
            raise UnresolvedTemplate(f"the user is not a {USER_TOKENS[token]}, so {{{{{token}}}}} has no value")
        return quote(id, safe="")
    name = token.removeprefix("context.")
    field = load_hooks()[hook].context.get(name)
    if name == token or field is None or not field.token:
        raise UnresolvedTemplate(f"{{{{{token[:60]}}}}} is not a prefetch token of {hook}")
    value = context.get(name)
    if isinstance(value, list):  # several references: any of them matches
        value = ",".join(map(str, value))
    if not value:
        raise UnresolvedTemplate(f"the context has no {name}")
    return quote(str(value), safe="/,")


def parse_query(url: str) -> PrefetchQuery:
    """Parse a resolved template. Raises UnresolvedTemplate if it is neither a read nor a search of one type."""
    if match := _READ.fullmatch(url):
        return ReadQuery(match[1], match[2])
    if match := _SEARCH.fullmatch(url):
        return TypeQuery(match[1], tuple(parse_qsl(match[2], keep_blank_values=True, max_num_fields=100)))
    raise UnresolvedTemplate("expected a read, such as Patient/123, or a search, such as Condition?patient=123")


def find_template_problem(template: str, hook: str) -> str:
    """Return why a template can never be resolved on a hook; empty if it can."""
    fields = load_hooks()[hook].context
    for token in _TOKEN.findall(template):
        name = token.removeprefix("context.")
        if token not in USER_TOKENS and (name == token or name not in fields or not fields[name].token):
            return f"{{{{{token[:60]}}}}} is not a prefetch token of {hook}"
    try:
        if not template.startswith("{{"):  # a token may stand for a whole reference: {{context.userId}}
            parse_query(_TOKEN.sub("1", template))
    except UnresolvedTemplate as error:
        return str(error)
    return ""
