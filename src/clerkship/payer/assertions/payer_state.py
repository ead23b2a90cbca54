"""`payer_state`: an authorization, a claim or an appeal is as expected at the end."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.assertions.answer_matches import read_answer
from clerkship.assertions.field_rows import MAX_NAMES, describe_fields
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.closed import find_unknown_value
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import check_expected, describe_expected, matches_expected
from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup, split_path
from clerkship.model.scenario import Expected
from clerkship.payer.answer import Appeal, Authorization, Member, PayerClaim
from clerkship.payer.state import PayerState
from clerkship.sandbox.assertion import FieldMatch

RecordKind = Literal["authorization", "claim", "appeal"]
_MODELS: Mapping[str, type[Authorization] | type[PayerClaim] | type[Appeal]] = {
    "authorization": Authorization,
    "claim": PayerClaim,
    "appeal": Appeal,
}
_SEPARATORS = re.compile(r"[\s-]")
"""What may stand in the number of a record in an answer."""
_HIDDEN = ("cause", "member_key")
"""Fields that only the payer itself uses."""
_ADDED = ("member_id", "patient", "procedure_codes", "provider_id", "payer_id")
"""Fields that every record has here, whatever its own."""


class PayerRecordState(SelectionAssertion):
    """An authorization, a claim or an appeal that `where` selects has these fields at the end. Or, with `count` or
    `none`, the number of such records is as expected. `input_entity_id` of a Patient selects records about the
    patient; of another record, those that have its id or identifier.
    """

    name: ClassVar[str] = "payer_state"
    simulator: ClassVar[str | None] = "payer"
    scoped: ClassVar[bool] = True
    record: Annotated[RecordKind, Field(description="which records")]
    where: Annotated[
        dict[str, Expected],
        Field(description="path -> value or matcher that selects records, such as {status: denied}"),
    ] = {}
    fields: Annotated[
        tuple[FieldMatch, ...], Field(description="paths in the record, and the values expected there")
    ] = ()
    answer: Annotated[
        str | None, Field(description="path in the agent's answer where the number of the record must be")
    ] = None
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        paths: list[tuple[FieldPath, str]] = [(("where", path), path) for path in self.where]
        paths += [(("fields", number, "path"), field.path) for number, field in enumerate(self.fields)]
        known = list_payer_fields(self.record)
        mistakes = [
            (place, f"{self.record} has no `{first}`; {did_you_mean(first, known)}".removesuffix("; "))
            for place, path in paths
            if (first := (split_path(path) or [path])[0]) not in known
        ]
        for expected in (*self.where.values(), *(field.expected for field in self.fields)):
            check_expected(expected)
        values: list[tuple[FieldPath, str, Any]] = [
            (("where", path), path, value) for path, value in self.where.items()
        ]
        values += [(("fields", n, "expected"), field.path, field.expected) for n, field in enumerate(self.fields)]
        unknown = [
            (place, find_unknown_value(_MODELS[self.record], path, expected))
            for place, path, expected in values
            if (split_path(path) or [path])[0] in _MODELS[self.record].model_fields
        ]
        mistakes += [(place, message) for place, message in unknown if message]
        if mistakes:
            raise build_located_error(mistakes)
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing. Only appeals do not exist before an agent does something."""
        return super().passes_on_inaction or (self.record != "appeal" and self.answer is None)

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield the records that `where` selects."""
        for key, data in self._list_records(evidence):
            if all(matches_expected(expected, lookup(data, path)) for path, expected in self.where.items()):
                rows = [field.compare(data) for field in self.fields]
                if self.answer is not None:
                    actual = read_answer(evidence, self.answer)
                    passed = _SEPARATORS.sub("", str(actual)).upper() == key.upper()
                    rows.append(field_check(f"answer.{self.answer}", key, actual, passed=passed))
                yield Compared(f"{self.record} {key}", tuple(rows))

    def _list_records(self, evidence: Evidence) -> Iterable[tuple[str, dict[str, Any]]]:
        """Return the number and the fields of the records about the patient or record of the criterion."""
        patient = _find_patient(evidence)
        records = list_payer_records(evidence.state(PayerState, self.sandbox), self.record)
        if patient is None:
            return narrow(evidence, records, lambda item: ItemContent(data=item[1]))
        return ((key, data) for key, data in records if data["patient"] == patient)

    def describe_selection(self, evidence: Evidence) -> str:
        """Return the kind of record, the patient and the conditions."""
        patient = _find_patient(evidence)
        where = ", ".join(f"{path} {describe_expected(expected)}" for path, expected in self.where.items())
        return self.record + (f" for {patient}" if patient else "") + (f" where {where}" if where else "")

    def describe_expectation(self) -> str:
        """Return the expected fields."""
        return describe_fields(self.fields)

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield which records there are, if none is selected."""
        known = [f"{key} ({data['status']})" for key, data in self._list_records(evidence)] if not compared else []
        if known:
            yield f"there is {join_first(known, most=MAX_NAMES)}"


def _find_patient(evidence: Evidence) -> str | None:
    """Return the key of the patient that the criterion is about; None if it is about none, or another record."""
    record = evidence.record or {}
    return f"Patient/{record.get('id')}" if record.get("resourceType") == "Patient" else None


def list_payer_fields(kind: str) -> list[str]:
    """Return the names of the fields that a record of a kind has here."""
    own = [name for name in _MODELS[kind].model_fields if name not in _HIDDEN]
    return sorted({*own, *_ADDED, *(("diagnoses",) if kind == "authorization" else ())})


def list_payer_records(state: PayerState, kind: RecordKind) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the number and the fields of each record of a kind, as plain data."""
    current = state.current
    if kind == "authorization":
        for authorization in current.authorizations.values():
            yield (
                authorization.id,
                _describe_authorization(authorization, current.find_member(authorization.member_key)),
            )
    elif kind == "claim":
        for claim in current.all_claims():
            yield claim.number, _describe_claim(claim, current.find_member(claim.member_key))
    else:
        for appeal in current.appeals.values():
            yield appeal.id, _describe_appeal(state, appeal)


def _to_data(record: Authorization | PayerClaim | Appeal, member: Member | None) -> dict[str, Any]:
    data = {name: value for name, value in record.model_dump(mode="json").items() if name not in _HIDDEN}
    return {
        **data,
        "member_id": member.member_id if member else None,
        "patient": (member.patient or None) if member else None,
    }


def _describe_authorization(record: Authorization, member: Member | None) -> dict[str, Any]:
    codes = [service.procedure_code for service in record.query.services]
    more = {
        "procedure_codes": codes,
        "diagnoses": list(record.query.diagnoses),
        "provider_id": record.query.provider_id,
    }
    return {**_to_data(record, member), **more}


def _describe_claim(record: PayerClaim, member: Member | None) -> dict[str, Any]:
    return {**_to_data(record, member), "procedure_codes": [line.procedure_code for line in record.lines]}


def _describe_appeal(state: PayerState, appeal: Appeal) -> dict[str, Any]:
    """Return the fields of an appeal, with those of the denied record that every record has here."""
    authorization, claim = state.current.find_authorization(appeal.of), state.current.find_claim(appeal.of)
    denied: dict[str, Any] = {}
    if authorization is not None:
        denied = _describe_authorization(authorization, state.current.find_member(authorization.member_key))
    elif claim is not None:
        denied = _describe_claim(claim, state.current.find_member(claim.member_key))
    return {
        **{name: denied.get(name) for name in _ADDED},
        **_to_data(appeal, None),
        **{name: denied.get(name) for name in ("member_id", "patient")},
    }
