"""Writing interactions as they are asked for over HTTP, each with its conditional sister (R4 http)."""

from typing import Any

from clerkship.simulators.fhir import writing
from clerkship.simulators.fhir.conditional import meant, parse_condition
from clerkship.simulators.fhir.events import NothingChanged, ResourceRead
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reading import only
from clerkship.simulators.fhir.wire import (
    GENERAL,
    Answer,
    Ask,
    body_of,
    if_match,
    if_none_match,
    patch_of,
    preferred_return,
)


def create(ask: Ask) -> Answer:
    """A new resource; with If-None-Exist, only if there is none such."""
    writing.may_write(ask.draft)
    type = writing.known_type(ask.params["type"])
    only(ask, GENERAL)
    resource = body_of(ask)
    condition = ask.headers.get("if-none-exist")
    found = meant(ask.draft, type, parse_condition(condition)) if condition is not None else None
    if found is not None:
        return already_there(ask, found)
    return written(ask, writing.create(ask.draft, resource, type), new=True)


def already_there(ask: Ask, key: str) -> Answer:
    """What was to be created is there: nothing is done, and that is a success."""
    type, _, id = key.partition("/")
    ask.draft.note(NothingChanged(operation="create", type=type, id=id))
    return looked(ask, Answer(200, version=ask.draft.version(key), key=key), "create")


def looked(ask: Ask, answer: Answer, operation: str) -> Answer:
    """An answer to a write that shows what its client has not sent: a look, where it is shown. Alone, a write is
    answered with the resource unless the client wants less; in a Bundle only where it is asked for."""
    usual = "representation" if ask.given is None else "minimal"
    if preferred_return(ask.headers, usual) == "representation" and answer.version is not None:
        type, _, id = answer.key.partition("/")
        ask.draft.note(ResourceRead(type=type, id=id, version=answer.version.id, operation=operation))
    return answer


def update(ask: Ask) -> Answer:
    """A resource is now this."""
    writing.may_write(ask.draft)
    writing.known_type(ask.params["type"])
    only(ask, GENERAL)
    return _updated(ask, ask.key, body_of(ask))


def conditional_update(ask: Ask) -> Answer:
    """The resource that is meant is now this; where there is none it is made."""
    writing.may_write(ask.draft)
    type = writing.known_type(ask.params["type"])
    resource = body_of(ask)
    key = target_of_update(ask, type, resource)
    if key is None:
        return written(ask, writing.create(ask.draft, resource, type, operation="update"), new=True)
    return _updated(ask, key, {**resource, "id": key.partition("/")[2]})


def target_of_update(ask: Ask, type: str, resource: Any) -> str | None:
    """Which resource a conditional update is for; None for one the server has to name (R4 http: conditional update)."""
    if not isinstance(resource, dict):
        raise refusal(400, "structure", "a resource is a JSON object with a `resourceType`")
    id = resource.get("id")
    if id is not None and not isinstance(id, str):
        raise refusal(400, "value", "an id is text", f"{type}.id")
    found = meant(ask.draft, type, ask.pairs)
    if found is None:
        return f"{type}/{id}" if id is not None else None
    if id is not None and found != f"{type}/{id}":
        raise refusal(400, "invalid", f"the condition means {found}, and the resource has another id")
    return found


def _updated(ask: Ask, key: str, resource: Any) -> Answer:
    new = not ask.draft.is_there(key)
    refuse_if_there(ask, key)
    return written(ask, writing.update(ask.draft, key, resource, if_match=if_match(ask.headers)), new=new)


def refuse_if_there(ask: Ask, key: str) -> None:
    """RFC 9110 §13.1.2: `If-None-Match: *` is for those who would only make it."""
    tags = if_none_match(ask.headers)
    version = ask.draft.version(key) if tags is not None else None
    if tags is None or version is None or version.gone:
        return
    if "*" in tags or version.id in tags:
        raise refusal(412, "conflict", f"there is a {key} already, at version {version.id}")


def patch(ask: Ask) -> Answer:
    """A resource is changed by a JSON Patch."""
    writing.may_write(ask.draft)
    only(ask, GENERAL)
    return _patched(ask, ask.key)


def conditional_patch(ask: Ask) -> Answer:
    """The resource that is meant is changed by a JSON Patch."""
    writing.may_write(ask.draft)
    return _patched(ask, target_of_patch(ask))


def target_of_patch(ask: Ask) -> str:
    """Which resource a conditional patch is for: there must be one."""
    found = meant(ask.draft, ask.params["type"], ask.pairs)
    if found is None:
        raise refusal(404, "not-found", f"no {ask.params['type']} matches")
    return found


def _patched(ask: Ask, key: str) -> Answer:
    return patched(ask, writing.patch(ask.draft, key, patch_of(ask), if_match=if_match(ask.headers)))


def patched(ask: Ask, key: str) -> Answer:
    """What a patch leads to: whoever knew a part of it is shown the whole."""
    return looked(ask, written(ask, key, new=False), "patch")


def delete(ask: Ask) -> Answer:
    """A resource is gone."""
    writing.may_write(ask.draft)
    only(ask, GENERAL)
    return _deleted(ask, ask.key)


def conditional_delete(ask: Ask) -> Answer:
    """The resource that is meant is gone, if there is one; several are refused."""
    writing.may_write(ask.draft)
    found = meant(ask.draft, ask.params["type"], ask.pairs)
    if found is None:
        ask.draft.note(NothingChanged(operation="delete", type=ask.params["type"]))
        return Answer(200, told="nothing matches: there was nothing to delete")
    return _deleted(ask, found)


def _deleted(ask: Ask, key: str) -> Answer:
    if not writing.delete(ask.draft, key, if_match=if_match(ask.headers)):
        return Answer(200, told=f"there is no {key[:140]}: there was nothing to delete")
    return Answer(204, version=ask.draft.version(key))


def written(ask: Ask, key: str, *, new: bool) -> Answer:
    """What a write leads to."""
    return Answer(201 if new else 200, version=ask.draft.version(key), key=key)
