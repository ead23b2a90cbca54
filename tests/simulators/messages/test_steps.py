"""Steps that let messages arrive in a scenario."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.simulators.messages.steps import ReceiveMessage
from tests.workbench import Workbench

SCENARIO = """
    environment:
      name: desk
      simulators:
        inbox:
          kind: messages
          config:
            contacts:
              - {name: Ada, phone: '+15550100001', email: Ada@home.example, portal: Patient/ada}
    task:
      name: Read the messages
      scenario:
        steps: STEPS
      criteria:
        - {label: acted, assertion: {agent_acted: {}}}
"""
VISIT = "messages.sent_before: {channel: portal, to: Patient/ada, subject: Visit, text: On Friday at 9.}"
BILL = "messages.sent_before: {channel: portal, to: Patient/ada, subject: Bill, text: Please pay.}"
MAIL = "messages.sent_before: {channel: email, to: Ada@home.example, subject: Visit, text: On Friday at 9.}"
TEXT = "messages.sent_before: {channel: sms, to: '+15550100001', text: On Friday at 9.}"


def run_steps(bench: Workbench, *steps: str) -> list[dict[str, Any]]:
    """Return the headers of the messages that the steps cause."""
    bench.write("a.yml", SCENARIO.replace("STEPS", f"[{', '.join('{' + step + '}' for step in steps)}]"))
    events = bench.events(bench.run_one(lambda task_item, sandboxes: sandboxes["inbox"].inbox()))
    return [event["payload"]["header"] for event in events if "header" in event["payload"]]


@pytest.mark.parametrize(
    ("answer", "answered"),
    [
        ("reply: true", 1),
        ("thread: 're: visit'", 0),
        ("thread: Bill", 1),
        ("in_reply_to: Friday", 0),
        ("in_reply_to: Please pay", 1),
    ],
)
def test_message_continues_the_thread_that_the_step_names(bench: Workbench, answer: str, answered: int) -> None:
    step = f"messages.receive: {{channel: portal, from: Patient/ada, text: Thanks., {answer}}}"
    *sent, received = run_steps(bench, VISIT, BILL, step)
    assert (received["thread"], received["in_reply_to"]) == (sent[answered]["thread"], sent[answered]["id"])
    assert received["subject"] == ("Visit", "Bill")[answered]


@pytest.mark.parametrize(
    ("first", "sender", "channel"), [(MAIL, "ada@HOME.example", "email"), (TEXT, "(555) 010-0001", "sms")]
)
def test_reply_finds_the_thread_of_an_address_that_is_written_otherwise(
    bench: Workbench, first: str, sender: str, channel: str
) -> None:
    step = f"messages.receive: {{channel: {channel}, from: '{sender}', text: Thanks., reply: true}}"
    sent, received = run_steps(bench, first, step)
    assert (received["thread"], received["in_reply_to"]) == (sent["thread"], sent["id"])


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("thread: Unknown", "no thread with Patient/ada and the subject 'Unknown'"),
        ("in_reply_to: Unknown", "no message to or from Patient/ada contains 'Unknown'"),
    ],
)
def test_answer_to_nothing_is_an_error_of_the_scenario(bench: Workbench, fields: str, problem: str) -> None:
    step = f"messages.receive: {{channel: portal, from: Patient/ada, text: Thanks., {fields}}}"
    bench.write("a.yml", SCENARIO.replace("STEPS", f"[{{{VISIT}}}, {{{step}}}]"))
    task_run = bench.run_one(lambda task_item, sandboxes: sandboxes["inbox"].inbox())
    assert task_run.status == "errored"
    assert problem in str(task_run.error)


def test_only_one_way_to_name_the_answered_message_is_allowed() -> None:
    with pytest.raises(ValidationError, match="only one of"):
        ReceiveMessage.model_validate({"channel": "sms", "from": "+15550100001", "reply": True, "in_reply_to": "x"})
