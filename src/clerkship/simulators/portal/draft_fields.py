"""Read the sections of the form of a new request: what the typed fields change in a draft."""

from collections.abc import Callable
from typing import Any, get_args

from clerkship.payer.inquiry import Frequency, ReviewType, Unit
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.names import list_question_ids
from clerkship.simulators.portal.records import ServiceLine, Urgency
from clerkship.simulators.portal.request_form import RequestForm, Section

ANSWER = "answer_"


def read_section(form: FormValues, request_form: RequestForm, section: Section) -> dict[str, Any]:
    """Return what the fields of a section change in a draft. Problems are in the form."""
    read = _READERS.get(section)
    return {} if read is None else read(form, request_form)


def _read_patient(form: FormValues, request_form: RequestForm) -> dict[str, Any]:
    return {"member": form.text("member", "The member", 40)} if form.fields.get("member") else {}


def _read_request(form: FormValues, request_form: RequestForm) -> dict[str, Any]:
    review = form.choice("review", "The request type", get_args(ReviewType))
    urgency = form.choice("urgency", "The urgency", get_args(Urgency))
    changes = {name: text for name, text in (("review", review), ("urgency", urgency)) if text}
    if form.has("place"):
        changes["place"] = form.text("place", "The place of service", 10)
    return changes


def _read_providers(form: FormValues, request_form: RequestForm) -> dict[str, Any]:
    names = {
        "requesting_npi": "The NPI of the requesting provider",
        "servicing_npi": "The NPI of the servicing provider",
    }
    return {name: form.text(name, label, 20) for name, label in names.items() if form.has(name)}


def _read_answers(form: FormValues, request_form: RequestForm) -> dict[str, Any]:
    typed = {name[len(ANSWER) :]: form.text(name, "The answer") for name in form.fields if name.startswith(ANSWER)}
    for id in typed.keys() - list_question_ids(request_form.desk.state.config):
        form.refuse(f"{ANSWER}{id}", f"No question has the id “{id[:40]}”. Open the page again.")
    changes: dict[str, Any] = {"answers": {**request_form.draft.answers, **typed}} if typed else {}
    if form.has("note"):
        changes["note"] = form.text("note", "The note")
    return changes


def _read_contact(form: FormValues, request_form: RequestForm) -> dict[str, Any]:
    labels = {"contact_name": "The name", "contact_phone": "The phone number"}
    return {name: form.text(name, label, 80) for name, label in labels.items() if form.has(name)}


_READERS: dict[Section, Callable[[FormValues, RequestForm], dict[str, Any]]] = {
    "patient": _read_patient,
    "request": _read_request,
    "providers": _read_providers,
    "clinical": _read_answers,
    "review": _read_contact,
}


def read_service(form: FormValues) -> ServiceLine | None:
    """Return the procedure that is typed in the fields to add one; None if the form has problems."""
    code = form.text("procedure_code", "The procedure code", 10).upper()
    modifiers = form.text("modifiers", "The modifiers", 40).upper().replace(",", " ").split()
    units = form.number("units", "The number of units")
    unit = form.choice("unit", "The unit", get_args(Unit))
    frequency = form.choice("frequency", "The frequency", get_args(Frequency))
    start, end = form.day("start", "The first day of service"), form.day("end", "The last day of service")
    if not code:
        form.refuse("procedure_code", "Enter a procedure code, then add it.")
    if len(modifiers) > 4:
        form.refuse("modifiers", "Enter at most four modifiers.")
    if form.problems:
        return None
    return ServiceLine(
        code=code,
        modifiers=tuple(modifiers),
        units=1 if units is None else units,
        unit=unit or "units",
        frequency=frequency or "total",
        start=start,
        end=end,
    )
