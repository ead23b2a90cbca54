"""Random phone calls through a real sandbox: as the state has them, and as criteria and reports read them."""

from dataclasses import asdict
from typing import Any

from hypothesis import strategies as st

from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from clerkship.simulators.voice.call_log import list_calls, list_voicemails
from clerkship.simulators.voice.events import VoicemailLeft
from clerkship.simulators.voice.metrics import measure_call
from clerkship.simulators.voice.records import PhoneCall, Voicemail
from tests.simulators.voice.office_phone import ANSWERPHONE, BUSY, GONE, LOOP, MENU, OWN, SILENT, OfficePhone

CALLERS = ("+15550100001", "+15550100002")
WORDS = (
    "billing",
    "four four seven one",
    "I would like to speak to the claims office about my visit of last Tuesday, please.",
    "No.",
)
KEYS = ("1", "2", "3", "4", "4471#", "12#", "*")
NOT_LOGGED = frozenset({"session", "due", "sounds", "tree_version", "meets", "heard_until", "heard_sounds"})
"""What the far end remembers, and what the agent has listened to: criteria and reports do not ask for it."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("dial"), st.sampled_from([MENU, MENU, ANSWERPHONE, BUSY, SILENT, GONE, LOOP, *CALLERS])),
        st.tuples(st.just("ring"), st.sampled_from(CALLERS)),
        st.tuples(st.just("connect"), st.sampled_from(CALLERS)),
        st.tuples(st.just("reply"), st.sampled_from(CALLERS)),
        st.tuples(st.just("leave"), st.sampled_from(CALLERS)),
        st.tuples(st.just("say"), st.sampled_from(WORDS)),
        st.tuples(st.just("press"), st.sampled_from(KEYS)),
        st.tuples(st.sampled_from(["hold", "resume", "hang-up", "answer", "reject", "hear"]), st.just("")),
        st.tuples(st.just("wait"), st.floats(0.1, 40).map(str)),
    ),
    max_size=40,
)


def compare_calls(data: st.DataObject) -> tuple[Any, Any]:
    """Play random calls; return what the state has of them, and what is read from the log."""
    with OfficePhone(mailboxes=[{"name": "night", "number": OWN}]) as phone:
        for verb, argument in data.draw(STEPS, label="steps"):
            _play(phone, data, verb, argument)
        playground = phone.rig.playground
        evidence = Evidence(Task(name="A task"), playground.log.ordered(), {}, "agent_done")
        calls = phone.state.calls.by_id
        outbound = [
            each for each in phone.state.mailboxes.messages.values() if calls[each.call or ""].direction == "outbound"
        ]
        state = [_view_call(call) for call in calls.values()], [_view_voicemail(each) for each in outbound]
        read = [_view_call(call) for call in list_calls(evidence)]
        return state, (read, [_view_voicemail(each.left) for each in list_voicemails(evidence)])


def _play(phone: OfficePhone, data: st.DataObject, verb: str, argument: str) -> None:
    calls = list(phone.state.calls.by_id)
    if verb == "dial":
        phone.post("/calls", to=argument)
    elif verb == "wait":
        phone.wait(float(argument))
    elif verb in ("ring", "connect", "reply", "leave"):
        _play_person(phone, verb, argument)
    elif calls:
        call = data.draw(st.sampled_from(calls), label="call")
        fields: dict[str, Any] = {"say": {"text": argument}, "press": {"digits": argument}}.get(verb, {})
        phone.act(call, verb, **fields)


def _play_person(phone: OfficePhone, verb: str, number: str) -> None:
    """Let a person call, or be connected with an agent that takes turns and replies in two parts."""
    conversation = phone.state.conversation("phone", number)
    by_person = phone.rig.playground.context_for(phone.rig.name, "person")
    if not conversation.open:
        conversation.start(by_person, f"Person {number}")
    if verb == "ring":
        conversation.say(by_person, "Can I move my visit?")
    elif verb == "leave":
        conversation.end(by_person, "done")
    else:
        conversation.connect(by_person)
        call = phone.state.calls.find(phone.state.people.find_call(number) or "")
        if verb == "reply" and not call.is_held_by_agent:
            for part in ("Your visit is on Friday.", "Please come at nine."):
                conversation.say(phone.rig.playground.context_for(phone.rig.name, "agent"), part)


def _view_call(call: PhoneCall) -> dict[str, Any]:
    view = {name: value for name, value in asdict(call).items() if name not in NOT_LOGGED}
    return {**view, "metrics": measure_call(call)}


def _view_voicemail(message: Voicemail | VoicemailLeft) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ("id", "mailbox", "text", "before_beep", "seconds", "call")}
