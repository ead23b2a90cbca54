"""Parts of agents for the tasks of `suites/fax` about faxes that are sent: what differs from a solution."""

from collections.abc import Callable
from typing import Any

from tests.suites.overridden_solutions import Agent, Verb, act_after, override_solution
from tests.suites.test_shipped import ROOT

FAX = ROOT / "suites" / "fax"
Resource = dict[str, Any]

BUSY = "Fax two referrals*"
PACKET = "Fax a prior authorization packet*"
APPEAL = "Appeal against a denial*"
RECORDS = "Answer two requests for records*"
NUMBER = "Fax a note to a practice*"
SOLUTIONS = {
    BUSY: "two_busy_lines",
    PACKET: "prior_authorization_packet",
    APPEAL: "appeal_by_its_deadline",
    NUMBER: "the_number_has_changed",
    RECORDS: "requests_for_records",
}


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(FAX, SOLUTIONS[task], **verbs)


def do_also(task: str, more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, after which something else is done."""
    return act_after(solve(task, **verbs), more)


def answer_with(task: str, **fields: Any) -> Agent:
    """Return the solution of a task with another answer."""
    return lambda task_item, sandboxes: {**solve(task)(task_item, sandboxes), **fields}


# How a fax differs.


def send_to(number: str, instead_of: str = "") -> Verb:
    """Override `fax.send` so that faxes, or those to one number, go to another."""
    return lambda send, to, **fields: send(number if instead_of in ("", to) else to, **fields)


def rewrite(change: Callable[[str], str], to: str = "") -> Verb:
    """Override `fax.send` so that the text of faxes, or of those to one number, is changed."""

    def send(verb: Verb, number: str, text: str, **fields: Any) -> Any:
        return verb(number, text=change(text) if to in ("", number) else text, **fields)

    return send


def add_page(words: str, to: str = "") -> Verb:
    """Override `fax.send` so that a page follows."""
    return rewrite(lambda text: f"{text}\f{words}", to)


def send_page_by_page(send: Verb, to: str, text: str, **fields: Any) -> Any:
    """Override `fax.send` so that each page is a document of its own."""
    documents = [{"name": f"{number}.txt", "text": page} for number, page in enumerate(text.split("\f"), 1)]
    return send(to, documents=documents, **fields)


def send_as_file(send: Verb, to: str, text: str, **fields: Any) -> Any:
    """Override `fax.send` so that the text is a file."""
    return send(to, files={"fax.txt": text.encode()}, **fields)


# How the chart differs.


def create_with(type: str, /, **elements: Any) -> Verb:
    """Override `ehr.create` so that resources of a type have other elements; None removes one."""

    def create(verb: Verb, resource: Resource) -> Any:
        if resource["resourceType"] != type:
            return verb(resource)
        return verb({key: value for key, value in {**resource, **elements}.items() if value is not None})

    return create


def delete_and_restore(sandboxes: Any) -> None:
    """Delete a record of an allergy, and restore it."""
    allergy = sandboxes["ehr"].read("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].delete("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].update(allergy)
