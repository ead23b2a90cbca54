"""Look up members by what a user typed, and say whether a service needs an authorization under their plans."""

from datetime import date
from typing import NamedTuple

from clerkship.payer.answer import Rejection
from clerkship.payer.determination import needs_authorization
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.plan import find_service_type
from clerkship.simulators.portal.describe import build_member_card
from clerkship.simulators.portal.desk import Desk, refuse_field
from clerkship.simulators.portal.events import Searched
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.lists import CodeLists
from clerkship.simulators.portal.views import CodeRow, FieldChoice


def list_payers(desk: Desk) -> list[FieldChoice]:
    """Return the payers of this portal."""
    return [FieldChoice(id, desk.name_payer(id)) for id in desk.payer_ids]


def read_person(desk: Desk, form: FormValues) -> tuple[str, PersonQuery]:
    """Return the payer and the person that a lookup form names; raises InvalidForm."""
    payer_id = form.text("payer", "The payer") or (desk.payer_ids[0] if len(desk.payer_ids) == 1 else "")
    person = PersonQuery(
        member_id=form.text("member_id", "The member ID", 80) or None,
        birth_date=form.day("birth_date", "The birth date"),
        family=form.text("family", "The last name", 80) or None,
        given=form.text("given", "The first name", 80) or None,
    )
    if payer_id not in desk.payer_ids:
        form.refuse("payer", "Choose the payer.")
    if person.birth_date is None and not form.problems:
        form.refuse("birth_date", "Enter the birth date.")
    if person.member_id is None and not (person.family and person.given):
        form.refuse("member_id", "Enter the member ID, or the last name and the first name.")
    form.check()
    return payer_id, person


def look_up(desk: Desk, form: FormValues) -> str:
    """Find the member that a form names; return its number. Raises InvalidForm."""
    payer_id, person = read_person(desk, form)
    found = desk.look_up_member(payer_id, person)
    if isinstance(found, Rejection):
        field = "birth_date" if found.reason == "birth_date_mismatch" else "member_id"
        raise refuse_field(field, found.text, found.reason)
    return desk.state.member_refs[found.key]


class AuthorizationNeed(NamedTuple):
    """Whether a service needs an authorization."""

    code: str
    plan: str
    member: str
    result: str = ""
    """required, not_required, not_covered or unknown_code; empty if it cannot be said yet."""
    text: str = ""
    row: CodeRow | None = None
    matches: tuple[CodeRow, ...] = ()
    """Codes whose description has the typed words, if it is not a code."""


def check_need(desk: Desk, form: FormValues) -> AuthorizationNeed:
    """Say whether a service needs an authorization, by code and plan, and log the search. Problems are in the form."""
    codes = CodeLists(desk.state.config)
    code, plan = form.text("code", "The code", 80), form.text("plan", "The plan", 80)
    member = form.text("member", "The member", 80)
    result, text, row = "", "", None
    matches: list[CodeRow] = []
    if member:
        coverage = build_member_card(desk, desk.get_member(member))
        plan = find_plan(desk, member, desk.today) or plan
        text = f"{coverage.name} has no active coverage. " if coverage.status != "active" else ""
    if code:
        found = codes.procedures.find(code)
        matches = [] if found else codes.procedures.search(code, desk.today)
        if found is None and not matches:
            result, text = "unknown_code", f"There is no procedure with the code or the words “{code}”."
        elif found is not None and plan not in {choice.value for choice in list_plans(desk)}:
            form.refuse("plan", "Choose the plan, or a member.")
        elif found is not None:
            row = CodeRow(found.code, found.description, found.describe_end())
            result, answer = _find_need(desk, found.code, plan)
            text += answer
        desk.action.emit(
            Searched(
                session=desk.session,
                subject="authorization_need",
                terms={"code": code, "plan": plan},
                records=(f"procedure/{row.code}",) if row else (),
                rejection=result if result == "unknown_code" else "",
            )
        )
    elif form.has("code") and not form.problems:
        form.refuse("code", "Enter a procedure code, or words of its description.")
    return AuthorizationNeed(code, plan, member, result, text, row, tuple(matches))


def list_plans(desk: Desk) -> list[FieldChoice]:
    """Return the plans of the payers of this portal."""
    records = desk.records
    known = {
        coverage.plan: coverage.plan_name
        for member in records.book.members.values()
        if member.payer_id in desk.payer_ids
        for coverage in member.coverages
    }
    return [FieldChoice(id, name) for id, name in sorted(known.items(), key=lambda item: item[1])]


def find_plan(desk: Desk, ref: str, day: date) -> str:
    """Return the plan of a member on a day; empty if it has none."""
    member = desk.get_member(ref)
    active = [each for each in member.coverages if each.start <= day and (each.end is None or day <= each.end)]
    return min(active, key=lambda each: each.order).plan if active else ""


def _find_need(desk: Desk, code: str, plan: str) -> tuple[str, str]:
    type = find_service_type(code)
    if type in desk.records.find_plan(plan).not_covered:
        return "not_covered", f"The plan does not cover {code}."
    rules = desk.payer.config.authorization_required
    if needs_authorization(rules, plan, "services", type, code):
        return "required", f"An authorization is needed for {code}."
    return "not_required", f"No authorization is needed for {code}."
