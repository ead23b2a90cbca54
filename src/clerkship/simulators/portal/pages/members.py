"""Members: look one up, eligibility and benefits, and whether a service needs an authorization."""

from clerkship.payer.inquiry import ServiceType
from clerkship.simulators.portal.codes.choices import find_label, list_choices
from clerkship.simulators.portal.describe import (
    build_amount_facts,
    build_benefit_rows,
    build_coverage_facts,
    build_limit_facts,
    build_member_card,
    list_coverage_values,
)
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.member_lookup import check_need, list_payers, list_plans, look_up
from clerkship.simulators.portal.site import PageRequest, Redirect, Shown, SitePage
from clerkship.simulators.portal.views import (
    FieldChoice,
    MemberSearchView,
    MemberView,
    NeedCheckView,
)

RECENT = 5


def read_form(desk: Desk, request: PageRequest) -> FormValues:
    """Return the fields of a form."""
    return FormValues(request.fields, desk.state.config.friction.date_format)


def show_member_search(desk: Desk, request: PageRequest) -> Shown:
    """Show the form to look up a member."""
    recent = desk.list_members()[:RECENT]
    view = MemberSearchView(
        title="Find a member",
        payers=list_payers(desk),
        values=request.fields,
        recent=[build_member_card(desk, member) for member in recent],
    )
    return Shown(view, tuple(f"member/{member.key}" for member in recent))


def search_member(desk: Desk, request: PageRequest) -> Redirect:
    """Look a member up."""
    return Redirect(f"/members/{look_up(desk, read_form(desk, request))}")


def show_member(desk: Desk, request: PageRequest) -> Shown:
    """Show a member: coverage and benefits on a day."""
    member, form = desk.get_member(request.id), read_form(desk, request)
    day = form.day("service_date", "The day of service")
    type = form.text("service_type", "The service type")
    types: tuple[ServiceType, ...] = (type,) if find_label("service_types", type) else ("plan",)  # type: ignore[assignment]
    answer = desk.check_eligibility(desk.build_party(member), day, types)
    card = build_member_card(desk, member, day)
    view = MemberView(
        title=card.name,
        member=card,
        service_types=[
            FieldChoice("", "All services"),
            *(each for each in list_choices("service_types") if each.value != "plan"),
        ],
        facts=build_amount_facts(answer),
        benefits=build_benefit_rows(answer),
        limits=build_limit_facts(answer),
        other_coverages=build_coverage_facts(answer),
        rejection=answer.rejection.text if answer.rejection else "",
        values={"service_date": request.fields.get("service_date", ""), "service_type": type},
        problems=form.problems,
    )
    return Shown(view, (f"member/{member.key}",), list_coverage_values(card, day or desk.today))


def show_need(desk: Desk, request: PageRequest) -> Shown:
    """Say whether a service needs an authorization, by code and plan."""
    form = read_form(desk, request)
    need = check_need(desk, form)
    view = NeedCheckView(
        title="Is an authorization needed?",
        plans=list_plans(desk),
        members=[
            FieldChoice(desk.state.member_refs[each.key], f"{each.family}, {' '.join(each.given)}")
            for each in desk.list_members()
        ],
        result=need.result,
        result_text=need.text,
        code=need.row,
        matches=need.matches,
        values={"code": need.code, "plan": need.plan, "member": need.member},
        problems=form.problems,
    )
    return Shown(view, values={"code": need.code, "plan": need.plan, "result": need.result})


PAGES = (
    SitePage("GET", "/members", show_member_search, "eligibility", "eligibility"),
    SitePage("POST", "/members", search_member, "eligibility", "eligibility", show=show_member_search),
    SitePage("GET", "/members/{id}", show_member, "eligibility", "eligibility"),
    SitePage("GET", "/authorization-check", show_need, "authorizations", "authorizations"),
)
