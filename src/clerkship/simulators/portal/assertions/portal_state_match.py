"""`portal_state_match`: what the payer portal has at the end: requests, drafts, documents, letters, appeals."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES, describe_fields
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.model.closed import find_unknown_value
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import check_expected, describe_expected, matches_expected
from clerkship.model.names import did_you_mean
from clerkship.model.path import MISSING, lookup, split_path
from clerkship.model.scenario import Expected
from clerkship.payer.answer import Appeal, Authorization
from clerkship.payer.assertions.payer_state import list_payer_fields, list_payer_records
from clerkship.payer.state import PayerState
from clerkship.sandbox.assertion import FieldMatch
from clerkship.simulators.portal.record_owners import RecordOwners
from clerkship.simulators.portal.records import Letter, RequestDraft, UploadedDocument, UserSession
from clerkship.simulators.portal.state import PortalState

PortalResource = Literal["prior_auth_requests", "drafts", "documents", "letters", "appeals", "sessions"]
_MODELS: Mapping[str, type[BaseModel]] = {
    "prior_auth_requests": Authorization,
    "drafts": RequestDraft,
    "documents": UploadedDocument,
    "letters": Letter,
    "appeals": Appeal,
    "sessions": UserSession,
}
_KINDS = {"drafts": "draft", "documents": "document", "letters": "letter"}
_HIDDEN = ("code",)
"""Fields of a session that are credentials."""
_OWNER_FIELDS = ("member_id", "patient")
_ADDED: Mapping[str, tuple[str, ...]] = {
    "prior_auth_requests": (
        *("request_id", "auth_number", "requested_by", "contact", "servicing_npi", "documents"),
        *("place", "is_urgent", "review", "answers", "note"),
    ),
    "drafts": (*_OWNER_FIELDS, "procedure_codes"),
    "documents": (*_OWNER_FIELDS, "is_sent"),
    "letters": _OWNER_FIELDS,
    "appeals": ("request_id", "documents"),
}
"""Fields beside those of the record."""


class PortalCorrelation(Frozen):
    """Which records of the payer portal."""

    resource: Annotated[PortalResource, Field(description="kind of record; `prior_auth_requests` are those it shows")]
    key: Annotated[str, Field(description="field that identifies a record, such as request_id; it must not be empty")]
    value: Annotated[Expected | None, Field(description="value of the key, or a matcher; any if not given")] = None


class PortalStateMatch(SelectionAssertion):
    """A record of the payer portal that `correlate_by` and `where` select has these values at the end. Or, with `count`
    or `none`, the number of such records is as expected. Requests and appeals are the payer's, also those that were
    filed by fax, X12 or phone, if the practice may see them. `input_entity_id` of a Patient selects records about the
    patient; of another record, those that have its id or identifier.
    """

    name: ClassVar[str] = "portal_state_match"
    simulator: ClassVar[str | None] = "portal"
    scoped: ClassVar[bool] = True
    correlate_by: Annotated[PortalCorrelation, Field(description="resource, key and value that select records")]
    where: Annotated[
        dict[str, Expected],
        Field(description="path -> value or matcher that selects records, such as {procedure_codes: [72148]}"),
    ] = {}
    assertions: Annotated[
        tuple[FieldMatch, ...], Field(description="paths in the record, and the values expected there")
    ] = ()
    sandbox: Annotated[str | None, Field(description="which payer portal; not needed if there is only one")] = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        resource, key = self.correlate_by.resource, self.correlate_by.key
        values: list[tuple[FieldPath, str, Any]] = [(("correlate_by", "key"), key, self.correlate_by.value)]
        values += [(("where", path), path, value) for path, value in self.where.items()]
        values += [(("assertions", n, "path"), each.path, each.expected) for n, each in enumerate(self.assertions)]
        known, model = list_portal_fields(resource), _MODELS[resource]
        mistakes: list[tuple[FieldPath, str]] = []
        for place, path, expected in values:
            check_expected(expected)
            first = (split_path(path) or [path])[0]
            if first not in known:
                mistakes.append((place, f"{resource} have no `{first}`; {did_you_mean(first, known)}".rstrip("; ")))
            elif first in model.model_fields and expected is not None:
                unknown = find_unknown_value(model, path, expected)
                mistakes += [((*place[:-1], "expected") if place[0] == "assertions" else place, unknown)] * bool(
                    unknown
                )
        if mistakes:
            raise build_located_error(mistakes)
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing: what only users make is not there then."""
        return super().passes_on_inaction or self.correlate_by.resource not in ("appeals", "documents", "sessions")

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield the records that `correlate_by` and `where` select."""
        for name, data in self._list_records(evidence):
            if self._is_selected(data):
                yield Compared(name, tuple(each.compare(data) for each in self.assertions))

    def _is_selected(self, data: Mapping[str, Any]) -> bool:
        key, value = self.correlate_by.key, self.correlate_by.value
        actual = lookup(data, key)
        has_key = actual not in (MISSING, None, "") if value is None else matches_expected(value, actual)
        return has_key and all(matches_expected(expected, lookup(data, path)) for path, expected in self.where.items())

    def _list_records(self, evidence: Evidence) -> list[tuple[str, dict[str, Any]]]:
        """Return the name and the fields of the records about the patient or record of the criterion."""
        records = list_portal_records(evidence, self.correlate_by.resource, self.sandbox)
        entity = evidence.record or {}
        if entity.get("resourceType") == "Patient" and self.correlate_by.resource != "sessions":
            return [each for each in records if each[1]["patient"] == f"Patient/{entity.get('id')}"]
        return list(narrow(evidence, records, lambda each: ItemContent(data=each[1])))

    def describe_selection(self, evidence: Evidence) -> str:
        """Return the kind of record and the conditions."""
        resource, key, value = self.correlate_by.resource, self.correlate_by.key, self.correlate_by.value
        conditions = [] if value is None else [f"{key} {describe_expected(value)}"]
        conditions += [f"{path} {describe_expected(expected)}" for path, expected in self.where.items()]
        return f"record of {resource}" + (f" where {', '.join(conditions)}" if conditions else "")

    def describe_expectation(self) -> str:
        """Return the expected values."""
        return describe_fields(self.assertions)

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield which records there are, if none is selected."""
        known = [name for name, _ in self._list_records(evidence)] if not compared else []
        if known:
            yield f"there is {join_first(known, most=MAX_NAMES)}"


def list_portal_fields(resource: PortalResource) -> list[str]:
    """Return the names of the fields that a record of a kind has here."""
    if resource in ("prior_auth_requests", "appeals"):
        own = list_payer_fields("authorization" if resource == "prior_auth_requests" else "appeal")
    else:
        own = [name for name in _MODELS[resource].model_fields if name not in _HIDDEN]
    return sorted({*own, *_ADDED.get(resource, ())})


def list_portal_records(
    evidence: Evidence, resource: PortalResource, sandbox: str | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Return the name and the fields of each record of a kind at the end, as plain data."""
    state = evidence.state(PortalState, sandbox)
    if resource == "prior_auth_requests":
        return list(_list_requests(state, evidence.state(PayerState)))
    if resource == "appeals":
        return list(_list_appeals(state, evidence.state(PayerState)))
    records: Mapping[Any, BaseModel] = getattr(state, resource)
    owners = evidence.cached(RecordOwners)
    described = []
    for id, record in records.items():
        data = {name: value for name, value in record.model_dump(mode="json").items() if name not in _HIDDEN}
        if resource in _KINDS:
            member = owners.find_member(f"{_KINDS[resource]}/{id}")
            data["member_id"] = member.member_id if member else None
            data["patient"] = (member.patient or None) if member else None
        if isinstance(record, RequestDraft):
            data["procedure_codes"] = [service.code for service in record.services]
        if isinstance(record, UploadedDocument):
            data["is_sent"] = not any(record.id in each.documents for each in state.drafts.values())
        described.append((f"{_KINDS.get(resource, 'session')} {id}", data))
    return described


def _list_requests(state: PortalState, payer: PayerState) -> Iterator[tuple[str, dict[str, Any]]]:
    visible = {each.id: each.query for each in state.list_requests(payer.current)}
    for id, data in list_payer_records(payer, "authorization"):
        query = visible.get(id)
        if query is None:
            continue
        performers = (service.performer_id for service in query.services if service.performer_id)
        added = {
            "request_id": id,
            "auth_number": data["number"],
            "requested_by": state.requesters.get(id),
            "contact": state.contacts.get(id),
            "servicing_npi": next(performers, None),
            "documents": list(query.attachments),
            **{name: data["query"][name] for name in ("place", "is_urgent", "review", "answers", "note")},
        }
        yield f"request {id} ({data['status']})", {**data, **added}


def _list_appeals(state: PortalState, payer: PayerState) -> Iterator[tuple[str, dict[str, Any]]]:
    visible = {each.id for each in state.list_requests(payer.current)}
    for id, data in list_payer_records(payer, "appeal"):
        if data["of"] in visible:
            more = {"request_id": data["of"], "documents": data["attachments"]}
            yield f"appeal {id} ({data['status']})", {**data, **more}
