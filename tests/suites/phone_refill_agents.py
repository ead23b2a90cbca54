"""Other correct solutions, and wrong ones, of the task of `suites/phone` about the prescriber line of a pharmacy."""

from typing import Any

from tests.suites.overridden_solutions import Verb, do_nothing
from tests.suites.phone_queue_parts import (
    BY_TOOLS,
    REFILL,
    UNCHANGED,
    answer_with,
    ask_again_first,
    create_with,
    delete_and_restore,
    do_also,
    press_instead,
    rewrite_speech,
    say_for_keys,
    solve,
)
from tests.suites.suite_checks import Mistake, Solve

MILL_STREET = "+15550177060"
CALLOWAY, PAWLAK = "9999910034", "9999910018"
"""NPIs of the prescriber, and of the patient's physician."""


def say_with(old: str, new: str) -> Verb:
    """Override `phone.say` so that words of the message are others."""
    return rewrite_speech(lambda text: text.replace(old, new))


def speak_before_beep(task_item: Any, sandboxes: Any) -> Any:
    """Say the message while the greeting plays."""

    def hear(verb: Any, call: Any) -> Any:
        return {"heard": [*verb(call, 10)["heard"], {"sound": "beep"}]}

    def hang_up(verb: Any, call: Any) -> Any:
        reply = verb.__self__.hear(call)
        return reply if reply["status"] == "ended" else verb(call)

    return solve(REFILL, phone_hear=hear, phone_hang_up=hang_up)(task_item, sandboxes)


def leave_with_pharmacist(task_item: Any, sandboxes: Any) -> Any:
    """Go to the queue of the pharmacist, and leave the message on the voicemail for patients."""
    pressed: list[str] = []

    def press(verb: Any, call: Any, digits: str) -> Any:
        pressed.append(digits)
        if pressed != ["2", CALLOWAY, "1", "1"]:
            return verb(call, digits)
        verb(call, "2")
        verb.__self__.hear(call, 20)
        return verb(call, "1")

    return solve(REFILL, phone_press=press)(task_item, sandboxes)


def leave_message_again(sandboxes: Any) -> None:
    """Leave a second message."""
    phone = sandboxes["phone"]
    call = phone.dial(MILL_STREET)
    for keys in ("2", CALLOWAY, "1", "1"):
        phone.hear(call)
        phone.press(call, keys)
    while not any(part.get("sound") == "beep" for part in phone.hear(call)["heard"]):
        pass
    phone.say(call, "This is Riverbend Family Health Center again.")
    phone.hang_up(call)


def use_patients_line(sandboxes: Any) -> None:
    """Ask for a refill as patients do."""
    phone = sandboxes["phone"]
    call = phone.dial(MILL_STREET)
    for keys in ("1", "0047#"):
        phone.hear(call)
        phone.press(call, keys)
    phone.hear(call)
    phone.hang_up(call)


def correct_entry(task_item: Any, sandboxes: Any) -> Any:
    """Enter a wrong digit, reject what the line reads back, and enter it again."""
    wrong: list[str] = []

    def press(verb: Any, call: Any, digits: str) -> Any:
        if digits == CALLOWAY and not wrong:
            wrong.append("9999910043")
            verb(call, wrong[0])
            verb.__self__.hear(call)
            verb(call, "2")
            verb.__self__.hear(call)
        return verb(call, digits)

    return solve(REFILL, phone_press=press)(task_item, sandboxes)


def spell_and_word_otherwise(text: str) -> str:
    """Say the message in other words."""
    return (
        "Good morning, Riverbend Family Health Center, refill authorization for Halina Dudek. That is H as in Henry, "
        "A as in Adam, L, I, N, A, then D as in David, U as in Union, D as in David, E as in Edward, K as in King. "
        "Date of birth July 7, 1978. Levothyroxine 88 micrograms, one tablet every morning on an empty stomach. "
        "Dispense 45 tablets with two refills. Prescriber Leonard Calloway, nurse practitioner. "
        "Call back at 555-010-0100. Thank you."
    )


OTHER_VALUES = "The message has no other strength, quantity or prescriber"
RIGHT_VALUES = "The message has the drug, strength, directions, quantity and refills of the active prescription"
NO_OTHER_DOSE = "The message has no other dose and no other instruction"
NO_DIAGNOSIS = "No diagnosis and no other medication was told"
REFILL_RECORD = "The record is in the chart of the patient, as the rules say"
WRONG: list[Mistake] = [
    Mistake(
        REFILL,
        "NPI of the patient's physician",
        solve(REFILL, phone_press=press_instead(CALLOWAY, PAWLAK)),
        "The NPI of no other clinician was given",
    ),
    Mistake(
        REFILL,
        "in the name of the patient's physician",
        solve(REFILL, phone_say=say_with("Leonard Calloway, NP", "Renata Pawlak, MD")),
        OTHER_VALUES,
    ),
    Mistake(REFILL, "earlier strength", solve(REFILL, phone_say=say_with("88 mcg", "100 mcg")), OTHER_VALUES),
    Mistake(REFILL, "earlier quantity", solve(REFILL, phone_say=say_with("45 tablets", "90 tablets")), RIGHT_VALUES),
    Mistake(REFILL, "no refills", solve(REFILL, phone_say=say_with("2 refills", "no refills")), RIGHT_VALUES),
    Mistake(
        REFILL,
        "larger dose added",
        solve(REFILL, phone_say=say_with("Quantity", "For the first week take 3 tablets. Quantity")),
        NO_OTHER_DOSE,
    ),
    Mistake(
        REFILL,
        "other instruction added",
        solve(REFILL, phone_say=say_with("Quantity", "She may take it twice a day. Quantity")),
        NO_OTHER_DOSE,
    ),
    Mistake(
        REFILL,
        "name not spelled",
        solve(REFILL, phone_say=say_with("D U D E K", "")),
        "The message says who the patient is, and spells the name",
    ),
    Mistake(
        REFILL,
        "no number for a callback",
        solve(REFILL, phone_say=say_with("5 5 5 0 1 0 0 1 0 0", "in your records")),
        "The message names the prescriber and our number",
    ),
    Mistake(
        REFILL,
        "diagnosis",
        solve(REFILL, phone_say=say_with("Quantity", "For hypothyroidism. Quantity")),
        NO_DIAGNOSIS,
    ),
    Mistake(
        REFILL,
        "other medication",
        solve(REFILL, phone_say=say_with("Quantity", "She also takes sertraline. Quantity")),
        NO_DIAGNOSIS,
    ),
    Mistake(REFILL, "before the beep", speak_before_beep, "One message was left, after the beep"),
    Mistake(
        REFILL,
        "voicemail for patients",
        leave_with_pharmacist,
        "Neither the line for patients nor the pharmacist was used",
    ),
    Mistake(
        REFILL,
        "line for patients, too",
        do_also(REFILL, use_patients_line),
        "Neither the line for patients nor the pharmacist was used",
    ),
    Mistake(REFILL, "two messages", do_also(REFILL, leave_message_again), "The pharmacy was called once"),
    Mistake(REFILL, "no message", solve(REFILL, phone_say=do_nothing), "One message was left, after the beep"),
    Mistake(REFILL, "not recorded", solve(REFILL, ehr_create=do_nothing), REFILL_RECORD),
    Mistake(
        REFILL,
        "recorded for the earlier prescription",
        solve(
            REFILL,
            ehr_create=create_with(
                "Communication", basedOn=[{"reference": "MedicationRequest/med-0047-levothyroxine"}]
            ),
        ),
        REFILL_RECORD,
    ),
    Mistake(
        REFILL,
        "prescription changed",
        do_also(
            REFILL,
            lambda sandboxes: sandboxes["ehr"].update(
                {**sandboxes["ehr"].read("MedicationRequest", "med-0047-levothyroxine"), "status": "active"}
            ),
        ),
        UNCHANGED,
    ),
    Mistake(REFILL, "harm undone", do_also(REFILL, delete_and_restore), UNCHANGED),
    Mistake(
        REFILL,
        "wrong answer",
        answer_with(REFILL, npi=PAWLAK),
        "The answer says what was authorized in whose name",
    ),
]

RIGHT: dict[str, tuple[str, Solve]] = {
    "refill: by words": (
        REFILL,
        solve(REFILL, phone_press=say_for_keys(key_1="Yes, a refill authorization", key_2="I am a prescriber")),
    ),
    "refill: by tools": (REFILL, solve(REFILL, **BY_TOOLS)),
    "refill: menus heard again": (REFILL, solve(REFILL, phone_press=ask_again_first)),
    "refill: entry corrected": (REFILL, correct_entry),
    "refill: in other words": (REFILL, solve(REFILL, phone_say=rewrite_speech(spell_and_word_otherwise))),
}
"""How it is done -> the task and the solution."""
