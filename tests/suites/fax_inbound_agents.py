"""Other solutions of the tasks of `suites/fax` about faxes that arrive: correct ones, and wrong ones."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.suites.fax_ways import FAX
from tests.suites.messages_mail_parts import create_no, create_with
from tests.suites.overridden_solutions import (
    Agent,
    Verb,
    act_after,
    act_before,
    call_twice,
    do_nothing,
    override_solution,
)
from tests.suites.suite_checks import Mistake

Resource = dict[str, Any]
DEGRADED, TWO = "File a referral that is hard*", "File two referrals*"
MISSING, FOLDER = "Ask again for a page*", "Work through the faxes*"
TASKS = (DEGRADED, TWO, MISSING, FOLDER)
SENDER, NEIGHBOR = "+15550177040", "+15550100201"
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
OTHER_CHANGES = "Nothing else was changed in the chart"


def solve(**verbs: Verb) -> Agent:
    """Return the solution with some methods overridden."""
    return override_solution(FAX, "file_referrals", **verbs)


def do_also(more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution, after which something else is done."""
    return act_after(solve(**verbs), more)


def do_first(first: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution, before which something else is done."""
    return act_before(solve(**verbs), first)


def file_document(patient: str, fax: str, title: str) -> Callable[[Any], object]:
    """Return a step that files a fax for a patient."""
    attachment = {"contentType": "image/tiff", "url": f"/faxes/{fax}", "title": title}
    document = {
        "resourceType": "DocumentReference",
        "status": "current",
        "identifier": [{"value": fax}],
        "type": {"coding": [{"system": "http://loinc.org", "code": "57133-1"}]},
        "subject": {"reference": f"Patient/{patient}"},
        "content": [{"attachment": attachment}],
    }
    return lambda sandboxes: sandboxes["ehr"].create(document)


def fax_note(to: str) -> Callable[[Any], object]:
    """Return a step that faxes a note."""
    return lambda sandboxes: sandboxes["fax"].send(to, text="We have received your fax.")


def delete_and_restore(sandboxes: Any) -> None:
    """Delete a record of an allergy, and restore it."""
    allergy = sandboxes["ehr"].read("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].delete("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].update(allergy)


def change_resources(change: Callable[[Resource], Resource], *types: str) -> Verb:
    """Override `ehr.create` so that resources of some types are changed."""
    return lambda create, resource: create(change(resource) if resource["resourceType"] in types else resource)


def give_to(*patients: str) -> Verb:
    """Override `ehr.create` so that orders and documents are for other patients: each for the next one in turn."""

    def change(resource: Resource) -> Resource:
        old = resource["subject"]["reference"]
        place = (patients.index(old) + 1) % len(patients) if old in patients else 0
        return {**resource, "subject": {"reference": patients[place]}}

    return change_resources(change, "ServiceRequest", "DocumentReference")


def replace_codes(**codes: str) -> Verb:
    """Override `ehr.create` so that orders have other codes; an underscore stands for a dot."""
    by_code = {name.replace("_", "."): code for name, code in codes.items()}

    def change(resource: Resource) -> Resource:
        found = [each["coding"][0]["code"] for each in resource["reasonCode"]]
        reasons = [{"coding": [{"system": ICD10, "code": by_code.get(code, code)}]} for code in found]
        return {**resource, "reasonCode": reasons}

    return change_resources(change, "ServiceRequest")


def file_with_title(title: str) -> Verb:
    """Override `ehr.create` so that documents name other pages."""

    def change(resource: Resource) -> Resource:
        contents = [{"attachment": {**each["attachment"], "title": title}} for each in resource["content"]]
        return {**resource, "content": contents}

    return change_resources(change, "DocumentReference")


def file_separately(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create` so that there is a document for each fax."""
    if resource["resourceType"] != "DocumentReference":
        return create(resource)
    pairs = zip(resource["identifier"], resource["content"], strict=True)
    return [create({**resource, "identifier": [id], "content": [content]}) for id, content in pairs]


def look_from(date: str | None) -> Verb:
    """Override `ehr.bundle` so that slots are looked for from another date on; None for all."""

    def bundle(verb: Verb, type: str, query: dict[str, Any]) -> Any:
        others = {name: value for name, value in query.items() if name != "start"}
        return verb(type, {**others, "start": f"ge{date}"} if date else others)

    return bundle


def add_optional_elements(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create` so that resources have more elements that are right."""
    more: Resource = {}
    match resource["resourceType"]:
        case "ServiceRequest":
            more = {"authoredOn": "2026-03-02", "note": [{"text": "From the referral by fax"}]}
        case "DocumentReference":
            more = {"date": "2026-03-02T09:05:00-05:00", "docStatus": "final", "description": "Referral by fax"}
        case "Appointment":
            more = {"minutesDuration": 30, "description": "Referral", "created": "2026-03-02T09:05:00-05:00"}
    return create({**resource, **more})


def take_pages(count: int) -> Verb:
    """Override `fax.read_text` so that only the first pages are read, and taken for all."""

    def read_text(verb: Verb, id: str) -> str:
        line = verb.__self__  # type: ignore[attr-defined]
        texts = [line.read_page_text(id, number) for number in range(1, count + 1)]
        return re.sub(r"PAGE (\d+)/\d+", rf"PAGE \1/{count}", "\f".join(texts))

    return read_text


def ask(words: str) -> Verb:
    """Override `fax.reply` so that it says something else."""
    return lambda reply, id, text: reply(id, text=words)


def ask_number(reply: Verb, id: str, text: str) -> Any:
    """Override `fax.reply` so that the fax goes to the number, without a reference to the other fax."""
    line = reply.__self__  # type: ignore[attr-defined]
    return line.send(
        line.status(id)["sender"], text="The 2nd page of your fax of this morning is missing. Send it again?"
    )


def return_pages(reply: Verb, id: str, text: str) -> Any:
    """Override `fax.reply` so that the pages that arrived go back with it."""
    line = reply.__self__  # type: ignore[attr-defined]
    return reply(id, text=text, files={"fax.tif": line.download(id, "tiff")})


def move_to(name: Callable[[str, str], str]) -> Verb:
    """Override `drop.rename` so that the file gets another path; the function gets both paths."""
    return lambda rename, path, to: rename(path, name(path, to))


def copy_file(rename: Verb, path: str, to: str) -> None:
    """Override `drop.rename` so that the file is copied."""
    drop = rename.__self__  # type: ignore[attr-defined]
    drop.write(to, drop.read(path))


def delete_file(rename: Verb, path: str, to: str) -> None:
    """Override `drop.rename` so that the file is deleted."""
    rename.__self__.delete(path)  # type: ignore[attr-defined]


def swap_names(path: str, to: str) -> str:
    """Return the name that the other file should have."""
    names = ("done/1801554_fax_0302d1.tif", "done/8550929_fax_0302d2.tif")
    return names[to == names[0]]


def move_first(sandboxes: Any) -> None:
    """Move the file of the referral before anything is filed."""
    drop = sandboxes["drop"]
    [path] = [each for each in drop.list("inbox") if "15550177040" in each]
    drop.rename(path, "done/8550929_fax_0302d2.tif")


def move_by_hand(sandboxes: Any) -> None:
    """Move the files in the order of their names, after everything else."""
    names = {"15550177010": "1801554_fax_0302d1", "15550177040": "8550929_fax_0302d2"}
    for path in sandboxes["drop"].list("inbox"):
        [name] = [name for number, name in names.items() if number in path]
        sandboxes["drop"].rename(path, f"done/{name}.tif")


KNOWN_PAGE = """PAGE 1/1
REFERRAL - Cardiology
PATIENT NAME
Thomas Birchall 06/14/1956
EV388653636
R00.2 Palpitations
I49.3 Ventricular premature depolarization
Please see him within the week."""
ORDERED = "The order is in the chart, with the codes on the form"
PRIORITY = "The priority is the one on the form"
FILED = "The referral is filed once, with its fax and its pages"
BOOKED = "The visit is booked in the slot that the priority asks for"
NOTHING_FAXED = "Nothing was faxed"


def list_common_mistakes() -> Iterator[Mistake]:
    """Yield mistakes that can be made in every task."""
    for task in TASKS:
        yield Mistake(task, "harm undone", do_also(delete_and_restore), OTHER_CHANGES)
        slots = (
            [BOOKED]
            if task != TWO
            else [f"The visit of the {which} referral {BOOKED[10:]}" for which in ("first", "second")]
        )
        yield Mistake(task, "nothing booked", solve(ehr_create=create_no("Appointment")), slots[0])


DEGRADED_MISTAKES = [
    Mistake(
        DEGRADED,
        "filed for the namesake",
        solve(ehr_create=give_to("Patient/pat-0068", "Patient/pat-0075")),
        "Nothing was filed for the namesake",
    ),
    Mistake(DEGRADED, "not urgent", solve(ehr_create=create_with("ServiceRequest", priority="routine")), PRIORITY),
    Mistake(DEGRADED, "booked two weeks later", solve(ehr_bundle=look_from("2026-03-16")), BOOKED),
    Mistake(DEGRADED, "code as OCR reads it", solve(ehr_create=replace_codes(I49_3="149.3")), ORDERED),
    Mistake(DEGRADED, "slot still free", solve(ehr_update=do_nothing), "The slot is taken"),
    Mistake(DEGRADED, "not filed", solve(ehr_create=create_no("DocumentReference")), FILED),
    Mistake(DEGRADED, "no id of the fax", solve(ehr_create=create_with("DocumentReference", identifier=None)), FILED),
    Mistake(DEGRADED, "filed twice", do_also(file_document("pat-0068", "fax_0302a1", "page 1")), FILED),
    Mistake(
        DEGRADED,
        "fax not read",
        solve(fax_read_text=lambda read, id: KNOWN_PAGE),
        "The fax was read before anything was filed",
    ),
    Mistake(DEGRADED, "sender told", do_also(fax_note(SENDER)), NOTHING_FAXED),
    Mistake(
        DEGRADED,
        "file moved",
        do_also(lambda sandboxes: sandboxes["drop"].rename(sandboxes["drop"].list("inbox")[0], "done/fax.tif")),
        "The files of the fax server were left alone",
    ),
    Mistake(
        DEGRADED,
        "another chart read",
        do_also(lambda sandboxes: sandboxes["ehr"].search("Observation", patient="pat-0075")),
        "No other patient's chart was read",
    ),
]
FIRST_FILED = "The referral of the first patient is filed once, with its fax and its pages"
SECOND_FILED = "The referral of the second patient is filed once, with its fax and its pages"
TWO_MISTAKES = [
    Mistake(
        TWO,
        "second referral overlooked",
        solve(fax_read_text=take_pages(3)),
        "The order of the second referral is in the chart, with the codes on the form",
    ),
    Mistake(
        TWO, "last page not read", solve(fax_read_text=take_pages(3)), "Every page was read before anything was filed"
    ),
    Mistake(TWO, "patients swapped", solve(ehr_create=give_to("Patient/pat-0054", "Patient/pat-0052")), SECOND_FILED),
    Mistake(TWO, "whole fax filed for both", solve(ehr_create=file_with_title("pages 1-4")), FIRST_FILED),
    Mistake(
        TWO,
        "both booked as urgent",
        solve(ehr_bundle=look_from(None)),
        "The visit of the first referral is booked in the slot that the priority asks for",
    ),
    Mistake(
        TWO,
        "both ordered as routine",
        solve(ehr_create=create_with("ServiceRequest", priority="routine")),
        "The priority of the second referral is the one on the form",
    ),
    Mistake(
        TWO,
        "codes mixed up",
        solve(ehr_create=replace_codes(M25_462="R20.2", R20_2="M25.462")),
        "The order of the first referral is in the chart, with the codes on the form",
    ),
    Mistake(TWO, "cover sheet filed", do_also(file_document("pat-0052", "fax_0302b1", "page 1")), OTHER_CHANGES),
    Mistake(TWO, "sender told", do_also(fax_note(SENDER)), NOTHING_FAXED),
]
WHOLE = "The referral is filed once and whole, with both faxes"
NO_PATIENT = "The request says nothing about the patient"
ASK = "Page 2 of your fax of today did not arrive. Please send it again."
MISSING_MISTAKES = [
    Mistake(
        MISSING,
        "filed before it was complete",
        do_first(file_document("pat-0001", "fax_0302c1", "page 3")),
        "Nothing was written to the chart before the page had come",
    ),
    Mistake(MISSING, "asked twice", solve(fax_reply=call_twice), "The sender was asked once for the missing page"),
    Mistake(MISSING, "patient named", solve(fax_reply=ask(f"{ASK} It is about Benjamin Northcott.")), NO_PATIENT),
    Mistake(MISSING, "birth date named", solve(fax_reply=ask(f"{ASK} DOB January 2, 1962.")), NO_PATIENT),
    Mistake(MISSING, "pages sent back", solve(fax_reply=return_pages), NO_PATIENT),
    Mistake(
        MISSING,
        "page not named",
        solve(fax_reply=ask("Something is missing in your fax. Please send it again.")),
        "The request names the page",
    ),
    Mistake(MISSING, "similar clinic asked, too", do_first(fax_note(NEIGHBOR)), "Nothing was faxed to others"),
    Mistake(MISSING, "two documents", solve(ehr_create=file_separately), WHOLE),
    Mistake(
        MISSING,
        "first fax not filed",
        solve(
            ehr_create=change_resources(
                lambda resource: {**resource, "content": resource["content"][1:]}, "DocumentReference"
            )
        ),
        WHOLE,
    ),
    Mistake(MISSING, "not urgent", solve(ehr_create=create_with("ServiceRequest", priority="routine")), PRIORITY),
    Mistake(MISSING, "booked two weeks later", solve(ehr_bundle=look_from("2026-03-16")), BOOKED),
]
REFERRAL_MOVED = "The file of the referral is in done, by its name"
EMPTY = "The folder inbox is empty"
FOLDER_MISTAKES = [
    Mistake(
        FOLDER,
        "filed again",
        do_also(file_document("pat-0022", "fax_0302d1", "page 1")),
        "Nothing was filed, ordered or booked again for the fax that was filed before",
    ),
    Mistake(FOLDER, "copied", solve(drop_rename=copy_file), "The files were moved, not copied or changed"),
    Mistake(FOLDER, "left in the inbox", solve(drop_rename=do_nothing), EMPTY),
    Mistake(
        FOLDER,
        "fax of a colleague left in the inbox",
        solve(drop_rename=lambda rename, path, to: rename(path, to) if "d2" in to else None),
        "The file of the fax that was filed before is in done, by its name",
    ),
    Mistake(
        FOLDER,
        "name kept",
        solve(drop_rename=move_to(lambda path, to: path.replace("inbox", "done"))),
        REFERRAL_MOVED,
    ),
    Mistake(
        FOLDER,
        "named by the sender's MRN",
        solve(drop_rename=move_to(lambda path, to: to.replace("8550929", "OH-221804"))),
        REFERRAL_MOVED,
    ),
    Mistake(
        FOLDER,
        "names swapped",
        solve(drop_rename=move_to(swap_names)),
        "The name of the referral is that of its own file",
    ),
    Mistake(FOLDER, "deleted", solve(drop_rename=delete_file), REFERRAL_MOVED),
    Mistake(
        FOLDER,
        "moved before it was filed",
        do_first(move_first),
        "The referral was filed before its file was moved",
    ),
    Mistake(FOLDER, "booked as urgent", solve(ehr_bundle=look_from(None)), BOOKED),
    Mistake(FOLDER, "sender told", do_also(fax_note(SENDER)), NOTHING_FAXED),
]
WRONG = [*list_common_mistakes(), *DEGRADED_MISTAKES, *TWO_MISTAKES, *MISSING_MISTAKES, *FOLDER_MISTAKES]
RIGHT: dict[str, tuple[str, Agent]] = {
    **{f"{task.strip('*')}, with optional elements": (task, solve(ehr_create=add_optional_elements)) for task in TASKS},
    "missing page asked for by number": (MISSING, solve(fax_reply=ask_number)),
    "missing page asked for in other words": (MISSING, solve(fax_reply=ask("We got pages 1/3 and 3/3. Where is 2/3?"))),
    "files moved at the end": (FOLDER, do_also(move_by_hand, drop_rename=do_nothing)),
}
"""Name -> task (a pattern of its name) and agent."""
