"""The form of a new request: in steps, or on one page."""

from collections.abc import Callable
from typing import Any

from clerkship.simulators.portal.codes.choices import list_choices
from clerkship.simulators.portal.describe import (
    build_diagnosis_rows,
    build_document_rows,
    build_draft_row,
    build_draft_services,
    build_member_card,
    build_provider_row,
)
from clerkship.simulators.portal.desk import CONFLICT, NOT_FOUND, Desk, DeskRefusal, InvalidForm, refuse_field
from clerkship.simulators.portal.directory import log_search, search_providers
from clerkship.simulators.portal.draft_fields import read_section, read_service
from clerkship.simulators.portal.drafts import (
    attach_documents,
    begin_draft,
    check_revision,
    delete_draft,
    detach_document,
    save_draft,
    submit_draft,
)
from clerkship.simulators.portal.events import HumanCheckAsked
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.lists import CodeLists
from clerkship.simulators.portal.member_lookup import list_payers, look_up
from clerkship.simulators.portal.pages.members import read_form
from clerkship.simulators.portal.pages.requests import MAX_UPLOAD_BODY, prepare_files
from clerkship.simulators.portal.pages.review_facts import build_review_facts
from clerkship.simulators.portal.questions.answering import build_question_fields
from clerkship.simulators.portal.records import RequestDraft
from clerkship.simulators.portal.request_form import (
    ATTESTATION,
    SECTION_LABELS,
    SECTIONS,
    RequestForm,
    Section,
    name_member,
)
from clerkship.simulators.portal.site import ErrorPage, PageRequest, Redirect, Shown, SitePage
from clerkship.simulators.portal.uploads import describe_accepted
from clerkship.simulators.portal.views import (
    CodeRow,
    DraftListView,
    DraftView,
    FieldChoice,
    OutcomeView,
    ProviderRow,
)

MAX_MATCHES = 20


def show_drafts(desk: Desk, request: PageRequest) -> Shown:
    """List the drafts of the practice."""
    drafts = list(reversed(desk.state.drafts.values()))
    view = DraftListView(title="Drafts", rows=[build_draft_row(desk, each) for each in drafts])
    return Shown(view, tuple(f"draft/{each.id}" for each in drafts))


def start_draft(desk: Desk, request: PageRequest) -> Redirect:
    """Begin a new request."""
    draft = begin_draft(desk, request.fields.get("member", ""))
    return Redirect(find_path(desk, draft, "patient"))


def remove_draft(desk: Desk, request: PageRequest) -> Redirect:
    """Delete a draft."""
    delete_draft(desk, desk.get_draft(request.id))
    return Redirect("/drafts", "draft_deleted")


def find_path(desk: Desk, draft: RequestDraft, section: Section) -> str:
    """Return the page of a section."""
    if desk.state.layout == "wizard":
        return f"/drafts/{draft.id}/{section}"
    return f"/drafts/{draft.id}#section-{section}"


def list_open_sections(form: RequestForm) -> tuple[Section, ...]:
    """Return the sections that can be filled in: those before the first with a problem, and that one."""
    return SECTIONS[: SECTIONS.index(form.find_open_section()) + 1]


def show_draft(desk: Desk, request: PageRequest) -> Shown:
    """Show the form of a new request: the step of the path, or all sections that are open."""
    draft = desk.get_draft(request.id)
    form = RequestForm(desk, draft)
    sections = list_open_sections(form)
    step = find_step(desk, request, sections)
    view = build_view(desk, form, request, step, sections)
    return Shown(view, list_records(form), {"step": step, "draft": draft.id})


def list_records(form: RequestForm) -> tuple[str, ...]:
    """Return what a draft shows, for the log."""
    member = form.member
    return (f"draft/{form.draft.id}", *((f"member/{member.key}",) if member is not None else ()))


def find_step(desk: Desk, request: PageRequest, sections: tuple[Section, ...]) -> Section:
    """Return the step that a request is about; refuse one that is not open yet."""
    if desk.state.layout != "wizard" or not request.step:
        return sections[-1]
    if request.step not in SECTIONS:
        raise DeskRefusal(NOT_FOUND, "This step does not exist.", "Go on with the draft from the list of drafts.")
    step: Section = request.step
    if step not in sections:
        label = SECTION_LABELS[sections[-1]]
        text = f"The step “{SECTION_LABELS[step]}” comes later. Complete the step “{label}” first."
        raise DeskRefusal(CONFLICT, text, f"Go back to the step “{label}”.")
    return step


def build_view(
    desk: Desk, form: RequestForm, request: PageRequest, step: Section, sections: tuple[Section, ...]
) -> DraftView:
    """Return the form as the page shows it."""
    draft, codes, fields = form.draft, form.codes, request.fields
    found = search(desk, codes, request)
    providers = [desk.records.find_provider(npi) for npi in (draft.requesting_npi, draft.servicing_npi)]
    rows = [build_provider_row(desk, each) if each else None for each in providers]
    states = {each: "current" if each == step else "done" if each in sections[:-1] else "open" for each in SECTIONS}
    typed = {name: fields[name] for name in _KEPT_FIELDS if name in fields}
    if request.action.startswith("use_procedure:"):
        typed["procedure_code"] = request.action.partition(":")[2]
    return DraftView(
        title="New authorization request",
        id=draft.id,
        revision=draft.revision,
        step=step,
        steps=[(each, SECTION_LABELS[each], states[each]) for each in SECTIONS],
        sections=sections,
        payers=list_payers(desk),
        members=[
            FieldChoice(
                desk.state.member_refs[each.key],
                f"{name_member(each)}, born {each.birth_date:%m/%d/%Y}, ID {each.member_id}",
            )
            for each in desk.list_members()
        ],
        member=build_member_card(desk, form.member, form.first_day) if form.member else None,
        reviews=list_choices("reviews"),
        urgencies=list_choices("urgencies"),
        places=list_choices("places"),
        requesting=rows[0],
        servicing=rows[1],
        provider_matches=found.providers,
        provider_target=found.target,
        diagnoses=build_diagnosis_rows(codes, draft.diagnoses),
        diagnosis_matches=found.diagnoses,
        services=build_draft_services(codes, draft),
        procedure_matches=found.procedures,
        units=list_choices("units"),
        frequencies=list_choices("frequencies"),
        question_title=form.questions.title,
        questions=build_question_fields(form.questions.ask(draft.answers)),
        documents=build_document_rows(desk, draft.documents),
        document_types=list_choices("document_types"),
        required_documents=form.name_needed_documents(),
        accepted=describe_accepted(desk.state.config.attachments),
        review_facts=build_review_facts(desk, form),
        attestation=ATTESTATION,
        searched=found.subject,
        values={
            "member": draft.member,
            "payer": draft.payer_id,
            "review": draft.review or "",
            "urgency": draft.urgency or "",
            "place": draft.place,
            "requesting_npi": draft.requesting_npi,
            "servicing_npi": draft.servicing_npi,
            "note": draft.note,
            "contact_name": draft.contact_name or desk.user.name,
            "contact_phone": draft.contact_phone or desk.user.phone,
            **typed,
        },
    )


_KEPT_FIELDS = (
    *("member_id", "birth_date", "family", "given", "payer", "provider_search", "diagnosis_search", "procedure_search"),
    *("procedure_code", "modifiers", "units", "unit", "frequency", "start", "end"),
)
"""What stays typed when the page is shown again."""


class Found:
    """The results of a search on the form."""

    def __init__(self) -> None:
        self.subject = ""
        self.target = ""
        self.providers: list[ProviderRow] = []
        self.diagnoses: list[CodeRow] = []
        self.procedures: list[CodeRow] = []


def search(desk: Desk, codes: CodeLists, request: PageRequest) -> Found:
    """Search providers or codes, if a button asks for that."""
    found, button = Found(), request.action
    if button in ("search_requesting", "search_servicing"):
        found.subject, found.target = "provider", button.partition("_")[2]
        text = request.fields.get("provider_search", "").strip()
        matches = search_providers(desk, text)[:MAX_MATCHES] if text else []
        if found.target == "requesting":
            matches = [each for each in matches if desk.records.may_read(desk.npi, each.npi)]
        found.providers = [build_provider_row(desk, each) for each in matches]
        log_search(desk, "provider", text, [each.npi for each in matches])
    elif button == "search_diagnosis":
        found.subject = "diagnosis"
        text = request.fields.get("diagnosis_search", "").strip()
        found.diagnoses = codes.diagnoses.search(text, desk.today)
        log_search(desk, "diagnosis", text, [each.code for each in found.diagnoses])
    elif button == "search_procedure":
        found.subject = "procedure"
        text = request.fields.get("procedure_search", "").strip()
        found.procedures = codes.procedures.search(text, desk.today)
        log_search(desk, "procedure", text, [each.code for each in found.procedures])
    return found


def send_draft(desk: Desk, request: PageRequest) -> Shown | Redirect:
    """Save what is typed, and do what the button says."""
    draft = desk.get_draft(request.id)
    revision = request.fields.get("revision", "")
    check_revision(desk, draft, int(revision) if revision.isdecimal() and len(revision) < 9 else None)
    form = RequestForm(desk, draft)
    step = find_step(desk, request, list_open_sections(form))
    button, _, argument = request.action.partition(":")
    run = _BUTTONS.get(button)
    if run is None:
        raise refuse_field("", "Use one of the buttons of the form. Nothing was saved.")
    draft, problems = _save_fields(desk, form, request, step)
    if problems and button not in ("back", "find_member"):
        raise InvalidForm(problems)
    return run(desk, request, draft, step, argument)


def _save_fields(desk: Desk, form: RequestForm, request: PageRequest, step: Section) -> tuple[RequestDraft, list[Any]]:
    values = read_form(desk, request)
    sections = (step,) if desk.state.layout == "wizard" else SECTIONS
    changes: dict[str, Any] = {}
    for section in sections:
        changes |= read_section(values, form, section)
    if changes.get("member"):
        desk.get_member(changes["member"])  # of a member that was not looked up, nothing is shown
        changes["payer_id"] = desk.get_member(changes["member"]).payer_id
    return (form.draft if values.problems else save_draft(desk, form.draft, changes)), values.problems


def _find_member(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    ref = look_up(desk, read_form(desk, request))
    draft = save_draft(desk, draft, {"member": ref, "payer_id": desk.get_member(ref).payer_id})
    return Redirect(find_path(desk, draft, "patient"))


def _go_on(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    form = RequestForm(desk, draft)
    if desk.state.layout != "wizard":
        first = form.find_open_section()
        asked = [each.problem for each in form.list_problems() if each.section in _list_shown(request, first)]
        if asked:
            raise InvalidForm(asked)
        return Redirect(find_path(desk, draft, first))
    problems = [each.problem for each in form.list_problems() if each.section == step and step != "review"]
    if problems:
        raise InvalidForm(problems)
    place = min(SECTIONS.index(step) + 1, len(SECTIONS) - 1)
    return Redirect(find_path(desk, draft, SECTIONS[place]))


def _list_shown(request: PageRequest, first: Section) -> tuple[Section, ...]:
    """Return the sections that were on the page already, and so must be complete before the next one appears."""
    shown = request.fields.get("shown", "")
    return SECTIONS[: SECTIONS.index(shown) + 1] if shown in SECTIONS else SECTIONS[: SECTIONS.index(first)]


def _go_back(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    return Redirect(find_path(desk, draft, SECTIONS[max(SECTIONS.index(step) - 1, 0)]))


def _stay(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    path = f"/drafts/{draft.id}/{step}" if desk.state.layout == "wizard" else f"/drafts/{draft.id}"
    return Redirect(path, "draft_saved" if request.action == "save" else "")


def _leave(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    return Redirect("/drafts", "draft_saved")


def _show_results(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Shown:
    return show_draft(desk, request)


def _choose_provider(field: str) -> "RunButton":
    def choose(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
        saved = save_draft(desk, draft, {field: argument})
        return Redirect(find_path(desk, saved, "providers"))

    return choose


def _add_diagnosis(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    form = RequestForm(desk, draft)
    typed = argument or FormValues(request.fields).text("diagnosis_code", "The diagnosis code", 20)
    problem = form.codes.diagnoses.find_problem(typed, form.first_day)
    if problem:
        raise refuse_field("diagnosis_code", problem)
    code = form.codes.write_diagnosis(typed)
    if code in draft.diagnoses:
        raise refuse_field("diagnosis_code", f"{code} is in the list already.")
    saved = save_draft(desk, draft, {"diagnoses": (*draft.diagnoses, code)})
    return Redirect(find_path(desk, saved, "diagnoses"))


def _add_service(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    values = read_form(desk, request)
    service = read_service(values)
    form = RequestForm(desk, draft)
    if service is None:
        raise InvalidForm(values.problems)
    for field, text in form.check_service(service):
        values.refuse(field, text)
    if service.code in [each.code for each in draft.services]:
        values.refuse("procedure_code", f"{service.code} is in the list already. Remove it to change it.")
    if values.problems:
        raise InvalidForm(values.problems)
    saved = save_draft(desk, draft, {"services": (*draft.services, service)})
    return Redirect(find_path(desk, saved, "services"))


def _take_out(name: str, section: Section, *, is_first: bool = False) -> "RunButton":
    """Return the button that removes a row of a list, or makes it the first."""

    def run(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
        rows = list(getattr(draft, name))
        place = int(argument) - 1 if argument.isdecimal() and len(argument) < 4 else -1
        if not 0 <= place < len(rows):
            raise refuse_field("", "This row is not in the list any more.")
        row = rows.pop(place)
        saved = save_draft(desk, draft, {name: tuple([row, *rows] if is_first else rows)})
        return Redirect(find_path(desk, saved, section))

    return run


def _upload(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    if not request.files:
        raise refuse_field("file", "Choose a file, then upload it.")
    saved = attach_documents(desk, draft, prepare_files(desk, request))
    return Redirect(find_path(desk, saved, "documents"))


def _remove_document(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Redirect:
    return Redirect(find_path(desk, detach_document(desk, draft, argument), "documents"))


def _submit(desk: Desk, request: PageRequest, draft: RequestDraft, step: Section, argument: str) -> Shown | Redirect:
    friction, state = desk.state.config.friction, desk.state
    if friction.human_check == "submit":
        desk.action.emit(HumanCheckAsked(session=desk.session))
        return Redirect("/verify")
    if state.errors_shown < friction.error_before_submit:
        raise ErrorPage(is_filed=False)
    submission = submit_draft(desk, draft, is_attested=bool(request.fields.get("attest")))
    if submission.request is None:
        view = OutcomeView(
            title="No authorization is needed",
            text=submission.text,
            services=build_draft_services(CodeLists(state.config), draft),
            draft=draft.id,
        )
        return Shown(view, (f"draft/{draft.id}",), {"text": submission.text})
    if state.errors_shown < friction.error_before_submit + friction.error_after_submit:
        raise ErrorPage(is_filed=True)
    return Redirect(f"/requests/{submission.request.id}?new=1")


RunButton = Callable[[Desk, PageRequest, RequestDraft, Section, str], Shown | Redirect]
_BUTTONS: dict[str, RunButton] = {
    "find_member": _find_member,
    "next": _go_on,
    "back": _go_back,
    "save": _stay,
    "update": _stay,
    "leave": _leave,
    "search_requesting": _show_results,
    "search_servicing": _show_results,
    "choose_requesting": _choose_provider("requesting_npi"),
    "choose_servicing": _choose_provider("servicing_npi"),
    "add_diagnosis": _add_diagnosis,
    "search_diagnosis": _show_results,
    "remove_diagnosis": _take_out("diagnoses", "diagnoses"),
    "first_diagnosis": _take_out("diagnoses", "diagnoses", is_first=True),
    "add_service": _add_service,
    "search_procedure": _show_results,
    "use_procedure": _show_results,
    "remove_service": _take_out("services", "services"),
    "upload": _upload,
    "remove_document": _remove_document,
    "submit": _submit,
}


def _page(method: str, path: str, run: Callable[..., Shown | Redirect], name: str = "", **more: Any) -> SitePage:
    return SitePage(method, path, run, "authorizations", "authorizations", name=name, max_body=MAX_UPLOAD_BODY, **more)


PAGES = (
    _page("GET", "/drafts", show_drafts),
    _page("POST", "/drafts", start_draft),
    _page("GET", "/drafts/{id}", show_draft),
    _page("POST", "/drafts/{id}", send_draft, show=show_draft),
    _page("POST", "/drafts/{id}/delete", remove_draft),
    _page("GET", "/drafts/{id}/{step}", show_draft, "show_step"),
    _page("POST", "/drafts/{id}/{step}", send_draft, "send_step", show=show_draft),
)
