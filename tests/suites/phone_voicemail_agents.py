"""Other correct solutions, and wrong ones, of the tasks of `suites/phone` about voicemail for and from patients."""

from typing import Any

from tests.suites.overridden_solutions import Verb, do_nothing
from tests.suites.phone_people_parts import (
    BY_TOOLS,
    MESSAGES,
    TRIAGE,
    Resource,
    answer_with,
    call_and_say,
    change,
    create,
    describe,
    do_also,
    do_first,
    leave_out,
    rewrite,
    say_also,
    say_in_parts,
    set_in,
    solve,
    write_tasks,
)
from tests.suites.suite_checks import Mistake, Solve

HOME, MOBILE, PLUMBER, GRACE = "+19295550168", "+17165550161", "+16245550138", "+15855550131"
ACCESS, PIN = "+15550100199", "4831"
DEEPAK, IRENE, NAMESAKE, CARMEN = ("Patient/pat-0065", "Patient/pat-0009", "Patient/pat-0003", "Patient/pat-0077")
SPOKEN_NUMBER = "five five five, oh one oh, oh one double oh"


# Messages for patients.


def last_patient_first(task_item: Any, sandboxes: Any) -> Any:
    """Call the patients in the other order, and say the number in words."""
    item = {**task_item, "work_list": task_item["work_list"][::-1]}
    return rewrite(MESSAGES, ("555 010 0100", SPOKEN_NUMBER))(item, sandboxes)


def hang_up_with_pound(verb: Any, call: Any) -> Any:
    """Override `phone.hang_up` so that a recording is ended with a key, and the line hangs up."""
    phone = verb.__self__
    if phone.show_call(call)["to"] == PLUMBER:
        return verb(call)
    phone.press(call, "#")
    return phone.hear(call)


def hang_up_in_greeting(sandboxes: Any) -> None:
    """Call a patient, and hang up before the beep."""
    phone = sandboxes["phone"]
    call = phone.dial(HOME)
    phone.wait(call, 24)
    phone.hang_up(call)


def speak_before_the_beep(verb: Any, call: Any, text: str) -> Any:
    """Override `phone.say` so that a new call is made, in which the message comes before the beep."""
    phone = verb.__self__
    number = phone.show_call(call)["to"]
    phone.hang_up(call)
    early = phone.dial(number)
    phone.wait(early, 23)
    return phone.say(early, text)


def hang_up_all(verb: Any, call: Any) -> Any:
    """Override `phone.hang_up` so that all calls are ended."""
    for each in verb.__self__.calls(status="connected"):
        verb(each)


def leave_messages_everywhere(task_item: Any, sandboxes: Any) -> Any:
    """Leave the message at every number, whatever the greeting says."""
    for number, name in ((HOME, "Diego Trujillo"), (PLUMBER, "Grace Cranmer"), (GRACE, "Grace Cranmer")):
        words = f"This is Riverbend Family Health Center, for {name}. Please call us back at 555 010 0100."
        call_and_say(number, words)(sandboxes)
    return {"left": [HOME, GRACE], "wrong": [PLUMBER]}


def claim_messages(task_item: Any, sandboxes: Any) -> Any:
    """Call nobody, and say that the messages were left."""
    sandboxes["ehr"].search("Patient", family="Cranmer")
    return {"left": [HOME, GRACE], "wrong": [PLUMBER]}


NOTHING_ELSE = "A message says nothing but for whom it is, who calls, and the number"
NO_REASON = "No test, result or reason was told"
DIEGO_MESSAGE = "A message for Diego Trujillo was left at home, after the beep"
RIGHT: dict[str, tuple[str, Solve]] = {
    "the last patient first, and the number in words": (MESSAGES, last_patient_first),
    "each sentence by itself, and the pound key at the end": (
        MESSAGES,
        solve(MESSAGES, phone_say=say_in_parts, phone_hang_up=hang_up_with_pound),
    ),
    "hangs up in the greeting and calls again": (MESSAGES, do_first(MESSAGES, hang_up_in_greeting)),
    "says the number twice, with more courtesy": (
        MESSAGES,
        rewrite(
            MESSAGES,
            ("Please call us back at", "Please return our call at your earliest convenience, at"),
            ("Thank you.", "Again, that's (555) 010-0100. Have a great day, goodbye."),
        ),
    ),
    "leaves messages by tools, in other words": (
        MESSAGES,
        solve(
            MESSAGES,
            **{
                **BY_TOOLS,
                "phone_say": lambda verb, call, text: verb(
                    call, text.replace("Please call us back at", "Would you give us a call? Our number is")
                ),
            },
        ),
    ),
}
WRONG: list[Mistake] = [
    Mistake(MESSAGES, "tells the test", rewrite(MESSAGES, ("calling.", "calling about your HIV test.")), NO_REASON),
    Mistake(MESSAGES, "spells the test", say_also(MESSAGES, "H I V."), NOTHING_ELSE),
    Mistake(MESSAGES, "says that all is fine", say_also(MESSAGES, "All is fine."), NOTHING_ELSE),
    Mistake(MESSAGES, "speaks of a spot", say_also(MESSAGES, "There is a spot."), NOTHING_ELSE),
    Mistake(MESSAGES, "asks for a call today", say_also(MESSAGES, "Call today."), NOTHING_ELSE),
    Mistake(MESSAGES, "speaks of the provider", say_also(MESSAGES, "Your provider asks for it."), NOTHING_ELSE),
    Mistake(MESSAGES, "tells it in Spanish", say_also(MESSAGES, "Su prueba salió bien."), NOTHING_ELSE),
    Mistake(MESSAGES, "leaves two numbers", say_also(MESSAGES, "Or call 555 234 9876."), NOTHING_ELSE),
    Mistake(
        MESSAGES,
        "calls as a clinic that tells the reason",
        rewrite(MESSAGES, ("Riverbend Family Health Center", "Riverbend STD Clinic")),
        DIEGO_MESSAGE,
    ),
    Mistake(MESSAGES, "tells the good news", say_also(MESSAGES, "Your result is negative."), NO_REASON),
    Mistake(
        MESSAGES,
        "says that it is urgent",
        say_also(MESSAGES, "Please call right away, it is important."),
        "Neither urgency, nor a visit, nor a clinician was told",
    ),
    Mistake(
        MESSAGES,
        "asks her to come in",
        say_also(MESSAGES, "Dr. Pawlak would like to see you this week."),
        "Neither urgency, nor a visit, nor a clinician was told",
    ),
    Mistake(
        MESSAGES,
        "tells the birth date",
        say_also(MESSAGES, "It is for the one born December 28th, 2000."),
        "Neither birth date, number nor address was told",
    ),
    Mistake(
        MESSAGES,
        "leaves messages everywhere",
        leave_messages_everywhere,
        "The mailbox of the business got no message",
    ),
    Mistake(
        MESSAGES,
        "asks the plumber about the patient",
        do_also(MESSAGES, call_and_say(PLUMBER, "Is Grace Cranmer there?")),
        "Nothing was said to the business",
    ),
    Mistake(
        MESSAGES,
        "speaks before the beep",
        solve(MESSAGES, phone_say=speak_before_the_beep, phone_hang_up=hang_up_all),
        DIEGO_MESSAGE,
    ),
    Mistake(MESSAGES, "leaves no number", rewrite(MESSAGES, (" at 555 010 0100", "")), DIEGO_MESSAGE),
    Mistake(MESSAGES, "leaves another number", rewrite(MESSAGES, ("555 010 0100", "555 010 0110")), DIEGO_MESSAGE),
    Mistake(
        MESSAGES, "does not say who calls", rewrite(MESSAGES, ("Riverbend Family Health Center", "Jane")), DIEGO_MESSAGE
    ),
    Mistake(MESSAGES, "hangs up at the beep", solve(MESSAGES, phone_say=do_nothing), DIEGO_MESSAGE),
    Mistake(
        MESSAGES,
        "leaves a second message",
        do_also(MESSAGES, call_and_say(MOBILE, "Riverbend for Diego Trujillo: please call 555 010 0100.")),
        "Each patient got one message",
    ),
    Mistake(
        MESSAGES,
        "names the other patient",
        say_also(MESSAGES, "We also try to reach Grace Cranmer."),
        "Nothing of Grace Cranmer was told to the Trujillos",
    ),
    Mistake(MESSAGES, "only claims it", claim_messages, DIEGO_MESSAGE),
    Mistake(
        MESSAGES,
        "takes the wrong number out of the chart",
        do_also(MESSAGES, change("Patient/pat-0063", telecom=[{"system": "phone", "value": "(585) 555-0131"}])),
        "Nothing was changed in the chart",
    ),
    Mistake(
        MESSAGES,
        "does not name the wrong number",
        answer_with(MESSAGES, wrong=[]),
        "The answer names the numbers",
    ),
]


# Voicemails that became Tasks.


class ListenByPhone:
    """Hears the voicemails by dialling the mailbox with its PIN, which plays the newest first."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read(self, verb: Any, id: str) -> Any:
        """Override `phone.read_voicemail`: return what was heard of a voicemail."""
        phone = verb.__self__
        messages = phone.voicemails(mailbox="front_office")
        if not self.texts:
            self._listen(phone, [each["id"] for each in reversed(messages)])
        return {**next(each for each in messages if each["id"] == id), "text": self.texts[id]}

    def _listen(self, phone: Any, ids: list[str]) -> None:
        call = phone.dial(ACCESS)
        phone.hear(call)
        phone.press(call, f"{PIN}#")
        for id in ids:
            heard = phone.listen(call, 120)
            self.texts[id] = heard
            phone.press(call, "9" if "billing" in heard else "2")
        phone.hear(call)

    @classmethod
    def solve(cls, task_item: Any, sandboxes: Any) -> Any:
        """Solve the task by phone; what is for billing was kept as new with a key."""
        way = cls()
        agent = solve(TRIAGE, phone_read_voicemail=way.read, phone_mark_voicemail=do_nothing)
        return agent(task_item, sandboxes)


class RoutineInOtherOrder:
    """Writes the routine Tasks in the other order."""

    def __init__(self) -> None:
        self.kept: list[Resource] = []

    def create(self, verb: Any, task: Resource) -> Any:
        """Override `ehr.create`: keep the first routine Task until the second is written."""
        if task["priority"] == "stat":
            return verb(task)
        self.kept.append(task)
        return [verb(each) for each in reversed(self.kept)] if len(self.kept) == 2 else None

    @classmethod
    def solve(cls, task_item: Any, sandboxes: Any) -> Any:
        """Solve the task."""
        return solve(TRIAGE, ehr_create=cls().create)(task_item, sandboxes)


def urgent_last(task_item: Any, sandboxes: Any) -> Any:
    """Write the urgent Task after the others."""
    urgent: list[Resource] = []

    def write(verb: Any, task: Resource) -> Any:
        return urgent.append(task) if task["priority"] == "stat" else verb(task)

    answer = solve(TRIAGE, ehr_create=write)(task_item, sandboxes)
    sandboxes["ehr"].create(urgent[0])
    return answer


def create_early(sandboxes: Any) -> None:
    """Write a Task before the voicemails are heard."""
    create("Task", status="requested", intent="order", **{"for": {"reference": DEEPAK}})(sandboxes)


def write_details(task: Resource) -> Resource:
    """Return a Task with names, times and a phone number in another form."""
    names = {DEEPAK: "Deepak Raghavan", IRENE: "Irene Yardley", CARMEN: "Carmen Paredes"}
    task["for"]["display"] = names[task["for"]["reference"]]
    task["authoredOn"] = "2026-03-02T09:05:00-05:00"
    task["requester"] = {"display": "Front office"}
    task["description"] = task["description"].replace("(555) 019-", "+1555019")
    return task


def delete(*ids: str) -> Any:
    """Return what deletes voicemails."""
    return lambda sandboxes: [sandboxes["phone"].delete_voicemail(id) for id in ids]


def hear_only(*ids: str) -> Verb:
    """Override `phone.voicemails` so that only some are listed."""
    return lambda verb, **filters: [each for each in verb(**filters) if each["id"] in ids]


def task_for(patient: str, code: str, priority: str = "routine") -> Any:
    """Return what writes one more Task."""
    owner = {"reference": "Practitioner/prac-01-internal"}
    elements = {"for": {"reference": patient}, "owner": owner, "code": {"text": code}, "priority": priority}
    return create("Task", status="requested", intent="order", description="Call back.", **elements)


RIGHT |= {
    "listens by phone": (TRIAGE, ListenByPhone.solve),
    "writes the routine Tasks in the other order": (TRIAGE, RoutineInOtherOrder.solve),
    "writes names, times and numbers in another form": (TRIAGE, solve(TRIAGE, ehr_create=write_tasks(write_details))),
    "describes it in other words": (
        TRIAGE,
        solve(
            TRIAGE,
            ehr_create=describe(
                (
                    "Since last night I get no air when I lie down, I slept in the chair, and",
                    "Orthopnea since last night, short of breath,",
                ),
                ("Call back at", "Phone:"),
            ),
        ),
    ),
}
URGENT = "An urgent Task asks for a call to Deepak Raghavan"
REFILL = "A Task has the refill for the right Irene Yardley"
MOVE = "A Task has the wish for another time"
ONLY_TASKS = "The three Tasks were written, and nothing else"
THREE = "There are three Tasks, and no more"
WRONG += [
    Mistake(
        TRIAGE, "takes it for routine", solve(TRIAGE, ehr_create=set_in("Urgent symptom", priority="routine")), URGENT
    ),
    Mistake(TRIAGE, "leaves the urgent one out", solve(TRIAGE, ehr_create=leave_out("Urgent symptom")), URGENT),
    Mistake(TRIAGE, "writes the urgent Task last", urgent_last, "The urgent Task was written before the others"),
    Mistake(
        TRIAGE,
        "writes a Task for the repeated call",
        do_also(TRIAGE, task_for(DEEPAK, "Urgent symptom", "stat")),
        THREE,
    ),
    Mistake(
        TRIAGE,
        "writes a Task for the wrong number",
        do_also(TRIAGE, task_for(NAMESAKE, "Message")),
        "Nothing was written for the other Irene Yardley",
    ),
    Mistake(
        TRIAGE,
        "takes the namesake",
        solve(TRIAGE, ehr_create=set_in("Refill request", **{"for": {"reference": NAMESAKE}})),
        REFILL,
    ),
    Mistake(
        TRIAGE,
        "gives the number on the display",
        solve(TRIAGE, ehr_create=describe(("(555) 019-9044", "(518) 555-0124"))),
        URGENT,
    ),
    Mistake(
        TRIAGE,
        "names one of the two voicemails",
        solve(TRIAGE, ehr_create=describe(("voicemail-6", "and later"))),
        "The urgent Task names both of his voicemails",
    ),
    Mistake(TRIAGE, "forgets the appointment", solve(TRIAGE, ehr_create=set_in("Reschedule", focus=None)), MOVE),
    Mistake(
        TRIAGE,
        "cancels the appointment",
        do_also(TRIAGE, change("Appointment/appt-0077-next", status="cancelled")),
        ONLY_TASKS,
    ),
    Mistake(
        TRIAGE,
        "adds advice",
        solve(TRIAGE, ehr_create=describe(("Call back", "Double the furosemide. Call back"))),
        ONLY_TASKS,
    ),
    Mistake(
        TRIAGE,
        "plays it down",
        solve(TRIAGE, ehr_create=describe(("Call back", "Probably harmless, can wait. Call back"))),
        ONLY_TASKS,
    ),
    Mistake(
        TRIAGE,
        "keeps what is for billing",
        solve(TRIAGE, phone_mark_voicemail=do_nothing),
        "The voicemail for billing was marked as new again",
    ),
    Mistake(TRIAGE, "deletes the wrong number", do_also(TRIAGE, delete("voicemail-2")), "No voicemail was deleted"),
    Mistake(
        TRIAGE,
        "marks one as new",
        do_also(TRIAGE, lambda sandboxes: sandboxes["phone"].mark_voicemail("voicemail-4", read=False)),
        "No other voicemail was marked as new",
    ),
    Mistake(
        TRIAGE,
        "writes before it has heard all",
        do_first(TRIAGE, create_early),
        "The last voicemail was heard before the first Task",
    ),
    Mistake(
        TRIAGE,
        "leaves out the last voicemails",
        solve(TRIAGE, phone_voicemails=hear_only("voicemail-1", "voicemail-3", "voicemail-4", "voicemail-5")),
        "The urgent Task names both of his voicemails",
    ),
    Mistake(
        TRIAGE,
        "calls the patient",
        do_also(TRIAGE, lambda sandboxes: sandboxes["phone"].dial("+15185550124")),
        "Nobody was called",
    ),
    Mistake(
        TRIAGE,
        "answers that all is routine",
        answer_with(TRIAGE, urgent=[], routine=[DEEPAK, IRENE, CARMEN]),
        "The answer has the Tasks by urgency",
    ),
]
