"""Finding the member that a request is about. Data of a member are only given to those who identify it."""

from typing import NamedTuple

from clerkship.payer.answer import Member, Rejection, RejectionReason, RejectionSubject
from clerkship.payer.book import build_name_key
from clerkship.payer.inquiry import PartyQuery, PersonQuery
from clerkship.payer.name_sorts import normalize_member_id
from clerkship.payer.person_name import is_same_family, is_same_given
from clerkship.payer.records import PayerRecords


class Parties(NamedTuple):
    """Who a request is about and for, as far as they were identified; or why they were not."""

    rejection: Rejection | None = None
    payer_name: str = ""
    provider_name: str = ""
    member: Member | None = None


def identify_parties(records: PayerRecords, query: PartyQuery) -> Parties:
    """Check the payer, then the provider, then the person, and return the first problem or all three."""
    payer = records.find_payer(query.payer_id)
    if payer is None:
        text = f"There is no payer with the number {query.payer_id}."
        return Parties(reject("unknown_payer", "payer", text))
    name = payer.name or query.payer_id
    if payer.status == "inactive":
        return Parties(reject("inactive_payer", "payer", f"{name} is no longer an active payer."), name)
    if payer.status == "unavailable":
        text = f"{name} cannot answer at the moment. Try again later."
        return Parties(reject("payer_unavailable", "payer", text), name)
    provider = records.find_provider(query.provider_id)
    if provider is None:
        text = f"The provider {query.provider_id} is not on file with {name}."
        return Parties(reject("unknown_provider", "provider", text), name)
    person = find_person(records, query)
    if isinstance(person, Rejection):
        return Parties(person, name, provider.name)
    return Parties(None, name, provider.name, person)


def reject(reason: RejectionReason, subject: RejectionSubject, text: str) -> Rejection:
    """Build a rejection."""
    return Rejection(reason=reason, subject=subject, text=text)


def find_person(records: PayerRecords, query: PartyQuery) -> Member | Rejection:
    """Return the member whom a request is about: the dependent if it names one, else the subscriber."""
    is_patient = query.dependent is None
    subscriber = _find_subscriber(records, query.payer_id, query.subscriber, is_patient=is_patient)
    if isinstance(subscriber, Rejection) or query.dependent is None:
        return subscriber
    return _find_dependent(records, subscriber, query.dependent)


def _find_subscriber(
    records: PayerRecords, payer_id: str, person: PersonQuery, *, is_patient: bool
) -> Member | Rejection:
    if not (person.member_id or "").strip():
        return _find_by_name(records, payer_id, person)
    if is_patient and person.birth_date is None:
        return reject(
            "missing_member_data", "subscriber", "The birth date of the subscriber is needed beside the member id."
        )
    keys = records.book.keys_by_id.get((payer_id, normalize_member_id(person.member_id or "")), ())
    subscriber = next((records.get_member(key) for key in keys if key.endswith("/0")), None)
    if subscriber is None:
        return reject("unknown_member", "subscriber", "There is no member with this id.")
    return compare_person(person, subscriber, "subscriber") or subscriber


def _find_by_name(records: PayerRecords, payer_id: str, person: PersonQuery) -> Member | Rejection:
    """Find a subscriber by name and birth date, which must identify one person."""
    if not person.family or not person.given or person.birth_date is None:
        text = "Give the member id and the birth date, or family name, given name and birth date of the subscriber."
        return reject("missing_member_data", "subscriber", text)
    keys = records.book.keys_by_name.get(build_name_key(payer_id, person.family, person.birth_date), ())
    namesakes = [records.get_member(key) for key in keys if key.endswith("/0")]
    matches = [member for member in namesakes if is_same_given(person.given, member.given)]
    if len(matches) > 1:
        matches = [member for member in matches if person.gender in (member.gender, None)] if person.gender else matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        text = "Several members have this name and birth date. Give the member id."
        return reject("missing_member_data", "subscriber", text)
    return reject("unknown_member", "subscriber", "There is no member with this name and birth date.")


def _find_dependent(records: PayerRecords, subscriber: Member, person: PersonQuery) -> Member | Rejection:
    if not person.given or person.birth_date is None:
        text = "Given name and birth date of the dependent are needed."
        return reject("missing_member_data", "dependent", text)
    keys = records.book.keys_by_id[subscriber.payer_id, normalize_member_id(subscriber.member_id)]
    dependents = [records.get_member(key) for key in keys if key != subscriber.key]
    named = [each for each in dependents if _has_name(person, each)]
    matches = [each for each in named if each.birth_date == person.birth_date]
    if len(matches) == 1:
        return matches[0]
    if named and not matches:
        return reject("birth_date_mismatch", "dependent", "The birth date is not that of the dependent on file.")
    return reject("unknown_dependent", "dependent", "The subscriber has no such dependent.")


def compare_person(person: PersonQuery, member: Member, subject: RejectionSubject) -> Rejection | None:
    """Compare what a request says of a person with the member on file; return None if nothing differs."""
    other_date = person.birth_date is not None and person.birth_date != member.birth_date
    other_name = not _has_name(person, member)
    if other_date and other_name:
        text = f"The member id is that of another person than the {subject} of the request."
        return reject("member_id_mismatch", subject, text)
    if other_date:
        return reject("birth_date_mismatch", subject, f"The birth date is not that of the {subject} on file.")
    if other_name:
        return reject("name_mismatch", subject, f"The name is not that of the {subject} on file.")
    return None


def _has_name(person: PersonQuery, member: Member) -> bool:
    """Return whether the names that a request gives are those of a member."""
    family = not person.family or is_same_family(person.family, member.family)
    return family and (not person.given or is_same_given(person.given, member.given))
