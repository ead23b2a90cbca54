"""Other ways to talk with patients and relatives who call: in steps, and in other words."""

OMAR = (
    "Riverbend, hello!",
    "Gladly. First, what is your full name?",
    "And when were you born?",
    "Thank you, Mr. Jabara. It is on Wednesday, the eighteenth of March, at one o'clock, Dr. Toussaint.",
    "I cannot tell you that, but the nurse can: five five five, zero one zero, zero one five five.",
)
IRENE = (
    "Riverbend Family Health Center.",
    "What is your date of birth, Mrs. Yardley?",
    "And the year?",
    "Thank you. March 19th.",
    "At one o'clock, with Dr. Pawlak.",
    "Take care!",
)
CARLOS = (
    "Riverbend Family Health Center, hello.",
    "Please tell me your date of birth.",
    "I am sorry, that does not match. Would you like to try again?",
    "I am afraid I am unable to help you on the phone. You are welcome to come by, with identification.",
    "As I said, I cannot tell you anything, and I cannot say whether anybody is a patient here.",
)
PILAR = (
    "Riverbend Family Health Center, this is Jane.",
    "Whom is it about? I need the full name and the date of birth.",
    "I can neither confirm nor deny that anyone is a patient of this practice.",
    "I understand. Still, without permission I may not tell you anything about anybody.",
    "I can take down a message, though. What is the best number to reach you?",
    "Thank you, I have written that down. Take care.",
)
TERESA = (
    "Riverbend Family Health Center, hello.",
    "Your name, and the name and date of birth of your husband, please.",
)
TERESA_WITH_RELEASE = (
    "It is on the 23rd of March, at eleven o'clock, with Dr. Toussaint.",
    "That I cannot say. Shall I take a message?",
    "I have it. Goodbye!",
)


def ask_in_steps(task_item, sandboxes):
    """Ask patients for the name first, and for the birth date when the name was said."""
    phone, calls = sandboxes["phone"], []
    for words, is_verified in ((OMAR, True), (IRENE, True), (CARLOS, False)):
        call = answer(phone)
        say(phone, call, words)
        calls.append({"from": call["from"], "verified": is_verified})
        if phone.show_call(call)["status"] != "ended":
            phone.hang_up(call)
    return {"calls": calls}


def talk_to_relatives(task_item, sandboxes):
    """Ask relatives in steps, refuse in other words, and write the Tasks after both calls."""
    phone, ehr = sandboxes["phone"], sandboxes["ehr"]
    first = answer(phone)
    say(phone, first, PILAR)
    second = answer(phone)
    say(phone, second, TERESA)
    [release] = ehr.search("Consent", patient="pat-0037", status="active")
    assert release["provision"]["actor"][0]["reference"]["display"] == "Teresa Ledesma"
    say(phone, second, TERESA_WITH_RELEASE)
    write(ehr, "Patient/pat-0026", "prac-01-nurse", "Pilar Trujillo, +15550199072, about tests; by 5 p.m.")
    write(ehr, "Patient/pat-0037", "prac-01-family", "Teresa Ledesma, 555-019-9083: his memory medicine?")
    return {"calls": [{"from": first["from"], "told": False}, {"from": second["from"], "told": True}]}


def answer(phone):
    """Answer the call that rings."""
    [call] = phone.calls(status="ringing")
    phone.answer(call)
    return call


def say(phone, call, words):
    """Say some sentences, and hear the answer to each."""
    for each in words:
        phone.say(call, each)
        phone.hear(call)


def write(ehr, patient, owner, description):
    """Write a Task with the message of a caller."""
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "priority": "routine",
            "code": {"text": "Message from a caller"},
            "for": {"reference": patient},
            "owner": {"reference": f"Practitioner/{owner}"},
            "description": description,
        }
    )
