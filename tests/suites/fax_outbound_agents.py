"""Other correct solutions and wrong ones of the tasks of `suites/fax` about faxes that are sent."""

from typing import Any

from tests.suites.fax_outbound_parts import (
    BUSY,
    add_page,
    answer_with,
    create_with,
    delete_and_restore,
    do_also,
    rewrite,
    send_as_file,
    send_page_by_page,
    send_to,
    solve,
)
from tests.suites.overridden_solutions import Agent, Verb, call_twice, do_nothing
from tests.suites.suite_checks import Mistake

CARDIOLOGY, ENDOCRINOLOGY = "+15550177010", "+15550177060"


def send_twice_to(number: str) -> Verb:
    """Override `fax.send` so that faxes to a number are sent twice, because the line is busy."""
    return lambda send, to, **fields: (call_twice if to == number else _call)(send, to, **fields)


def _call(verb: Verb, *args: Any, **fields: Any) -> Any:
    return verb(*args, **fields)


def believe_delivered(status: Verb, id: str) -> Any:
    """Override `fax.status` so that a fax that was accepted counts as delivered."""
    return {**status(id), "status": "delivered"}


def give_up(task_item: Any, sandboxes: Any) -> Any:
    """Post each referral once."""
    sent: dict[str, Any] = {}

    def send(verb: Verb, to: str, **fields: Any) -> Any:
        return sent.get(to) or sent.setdefault(to, verb(to, **fields))

    return solve(BUSY, fax_send=send)(task_item, sandboxes)


def take_older_letter(search: Verb, type: str, **parameters: Any) -> Any:
    """Override `ehr.search` so that the first letter of a patient is taken."""
    if type != "DocumentReference":
        return search(type, **parameters)
    letters = search(type, patient=parameters["patient"], _sort="date")
    return [each for each in letters if each["type"]["text"] == "Referral note"][:1]


def mix_up_letters(task_item: Any, sandboxes: Any) -> Any:
    """Fax each letter to the other office."""
    others = {CARDIOLOGY: ENDOCRINOLOGY, ENDOCRINOLOGY: CARDIOLOGY}
    return solve(BUSY, fax_send=lambda send, to, **fields: send(others[to], **fields))(task_item, sandboxes)


def fax_one_after_the_other(task_item: Any, sandboxes: Any) -> Any:
    """Post the second referral when the first is done."""
    number, *_ = [each["number"] for each in sandboxes["fax"].contacts(name="Cardiology")]

    def send(verb: Verb, to: str, **fields: Any) -> Any:
        if to != number:
            sandboxes.wait("20m")
        return verb(to, **fields)

    return solve(BUSY, fax_send=send)(task_item, sandboxes)


def build_other_cover(text: str) -> str:
    """Word the cover page in another way."""
    cover, letter = text.split("\f")
    office, person, born = (
        cover.split("To: ")[1].split("\n")[0],
        *cover.split("Re: ")[1].split("\n")[0].split(", born "),
    )
    year, month, day = born.split("-")
    return f"Riverbend Family Health Center\nFAX FOR {office}\n{person}, DOB {month}/{day}/{year}\nPages: 2\f{letter}"


RECORDED = "Both are recorded in the chart of their patient, as the rules say, and nothing else was changed"
BUSY_MISTAKES = [
    Mistake(
        BUSY,
        "posted again while the line was busy",
        solve(BUSY, fax_send=send_twice_to(CARDIOLOGY)),
        "The referral to cardiology was posted once, though the line was busy",
    ),
    Mistake(
        BUSY,
        "posted again during the retries",
        solve(BUSY, fax_send=send_twice_to(ENDOCRINOLOGY)),
        "The referral to endocrinology was not posted again before the line had given up",
    ),
    Mistake(BUSY, "given up", give_up, "Each office got its referral exactly once"),
    Mistake(
        BUSY,
        "recorded before it was delivered",
        solve(BUSY, fax_status=believe_delivered),
        "The referral to cardiology was recorded after it was delivered",
    ),
    Mistake(
        BUSY,
        "older letter",
        solve(BUSY, ehr_search=take_older_letter),
        "The endocrinologist got the letter of February",
    ),
    Mistake(BUSY, "letters mixed up", mix_up_letters, "The cardiologist got nothing about another patient"),
    Mistake(
        BUSY,
        "another office of the same name",
        solve(BUSY, fax_send=send_to("+15550177011", CARDIOLOGY)),
        "Nothing was faxed to others",
    ),
    Mistake(BUSY, "page added", solve(BUSY, fax_send=add_page("Progress note")), "Every fax has two pages"),
    Mistake(
        BUSY,
        "no cover page",
        solve(BUSY, fax_send=rewrite(lambda text: text.split("\f")[1])),
        "The cardiologist got a cover page",
    ),
    Mistake(
        BUSY,
        "letter cut",
        solve(BUSY, fax_send=rewrite(lambda text: text.split("Vital signs")[0])),
        "The cardiologist got the letter",
    ),
    Mistake(BUSY, "not recorded", solve(BUSY, ehr_create=do_nothing), RECORDED),
    Mistake(
        BUSY,
        "recorded as in progress",
        solve(BUSY, ehr_create=create_with("Communication", status="in-progress")),
        RECORDED,
    ),
    Mistake(BUSY, "harm undone", do_also(BUSY, delete_and_restore), RECORDED),
    Mistake(BUSY, "wrong count", answer_with(BUSY, endocrinology=1), "The answer says how often each was posted"),
]
WRONG = [*BUSY_MISTAKES]
RIGHT: dict[str, tuple[str, Agent]] = {
    "busy lines: each page a document": (BUSY, solve(BUSY, fax_send=send_page_by_page)),
    "busy lines: text as a file": (BUSY, solve(BUSY, fax_send=send_as_file)),
    "busy lines: other words on the cover page": (BUSY, solve(BUSY, fax_send=rewrite(build_other_cover))),
    "busy lines: one after the other": (BUSY, fax_one_after_the_other),
}
