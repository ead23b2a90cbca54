"""`$validate`: what is wrong with a resource, said and not acted upon (R4 Resource/$validate)."""

from typing import Any

from clerkship.fhir.issue import Issue, outcome
from clerkship.fhir.resource import render
from clerkship.fhir.validation import validate as found_wrong
from clerkship.simulators.fhir.events import ResourceValidated
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reading import only
from clerkship.simulators.fhir.references import dangling
from clerkship.simulators.fhir.wire import GENERAL, Answer, Ask, body_of
from clerkship.simulators.fhir.writing import known_type

MODES = ("create", "update", "delete")
_KNOWN = GENERAL | {"mode", "profile"}


def validate(ask: Ask) -> Answer:
    """Always 200 where the question can be answered; what is wrong is in the answer."""
    type, id = known_type(ask.params["type"], stored=False), ask.params.get("id", "")
    only(ask, _KNOWN)
    resource, mode, profile = _asked(ask)
    if mode and mode not in MODES:
        raise refusal(400, "value", f"`mode` is one of {', '.join(MODES)}, not {mode[:80]}")
    issues = _about_place(ask, type, id, mode, resource)
    if mode != "delete" and isinstance(resource, dict):
        issues += _about_content(ask, type, resource)
    if named := [*([profile] if profile else ()), *_profiles(resource)]:
        issues.append(Issue("warning", "not-supported", f"profiles are not checked here: {', '.join(named)[:200]}"))
    errors = sum(issue.severity in ("error", "fatal") for issue in issues)
    ask.draft.note(ResourceValidated(type=type, id=id, errors=errors))
    return Answer(200, render(outcome(issues or [Issue("information", "informational", "nothing is wrong with it")])))


def _asked(ask: Ask) -> tuple[Any, str, str]:
    """The resource, what it is for, and against which profile: bare and in the query, or as Parameters."""
    said = dict(ask.pairs)
    body = body_of(ask) if ask.body or ask.given is not None else None
    if not isinstance(body, dict) or body.get("resourceType") != "Parameters" or ask.params["type"] == "Parameters":
        return body, said.get("mode", ""), said.get("profile", "")
    listed = body.get("parameter")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    named = {str(part.get("name")): part for part in parts}
    mode = named.get("mode", {}).get("valueCode", said.get("mode", ""))
    profile = next((v for n, v in named.get("profile", {}).items() if n.startswith("value")), said.get("profile", ""))
    return named.get("resource", {}).get("resource"), str(mode), str(profile)


def _about_place(ask: Ask, type: str, id: str, mode: str, resource: Any) -> list[Issue]:
    """Whether what is to be done could be done there."""
    if resource is None and mode != "delete":
        raise refusal(400, "required", "there is no resource to be looked at")
    there = bool(id) and ask.draft.is_there(f"{type}/{id}")
    if mode == "create" and id:
        return [Issue("error", "business-rule", "a create has no id; ask at the address of the type")]
    if mode == "delete" and id and not there:
        return [Issue("error", "not-found", f"there is no {type}/{id[:80]}")]
    if mode == "update" and not ask.draft.settings.client_ids and id and not there:
        return [Issue("error", "not-found", f"there is no {type}/{id[:80]}, and clients do not choose ids here")]
    if id and mode != "delete" and isinstance(resource, dict) and resource.get("id") != id:
        return [
            Issue("error", "invalid", f"the id of the resource must be that of its address, `{id[:80]}`", f"{type}.id")
        ]
    return []


def _profiles(resource: Any) -> list[str]:
    """Those it says it fits."""
    meta = resource.get("meta") if isinstance(resource, dict) else None
    named = meta.get("profile") if isinstance(meta, dict) else None
    return [text for text in named if isinstance(text, str)] if isinstance(named, list) else []


def _about_content(ask: Ask, type: str, resource: dict[str, Any]) -> list[Issue]:
    if resource.get("resourceType") != type:
        return [Issue("error", "invalid", f"the resource is not a {type}")]
    issues = found_wrong(resource)
    if ask.draft.settings.references == "checked":
        issues += dangling(resource, ask.draft)
    return issues
