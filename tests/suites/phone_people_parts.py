"""Parts of agents for the tasks of `suites/phone` about patients and relatives: what differs from a solution."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.suites import overridden_solutions
from tests.suites.overridden_solutions import Agent, Verb, act_after, act_before
from tests.suites.test_shipped import ROOT

PHONE = ROOT / "suites" / "phone"
Act = Callable[[Any], object]
Rewrite = Callable[[str], str]
Resource = dict[str, Any]

MESSAGES, TRIAGE = "Leave voicemails*", "Turn the voicemails*"
VERIFY, RELATIVES = "Tell callers*", "Tell relatives*"
SOLUTIONS = {
    MESSAGES: "compliant_voicemail",
    TRIAGE: "triage_voicemails",
    VERIFY: "verify_the_caller",
    RELATIVES: "a_relative_calls",
}
override_solution = partial(overridden_solutions.override_solution, PHONE)


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(SOLUTIONS[task], **verbs)


def do_also(task: str, more: Act, **verbs: Verb) -> Agent:
    """Return the solution of a task, after which something else is done."""
    return act_after(solve(task, **verbs), more)


def do_first(task: str, first: Act, **verbs: Verb) -> Agent:
    """Return the solution of a task, before which something else is done."""
    return act_before(solve(task, **verbs), first)


def answer_with(task: str, **fields: Any) -> Agent:
    """Return the solution of a task with another answer."""
    return lambda task_item, sandboxes: {**solve(task)(task_item, sandboxes), **fields}


# What is said.


def rewrite(task: str, *pairs: tuple[str, str], **verbs: Verb) -> Agent:
    """Return the solution of a task with parts of what it says replaced; a part that is never said is a mistake."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        used: set[str] = set()

        def say(verb: Verb, call: Any, text: str) -> Any:
            for old, new in pairs:
                if old in text:
                    used.add(old)
                    text = text.replace(old, new)
            return verb(call, text)

        answer = solve(task, phone_say=say, **verbs)(task_item, sandboxes)
        assert used == {old for old, _ in pairs}
        return answer

    return on_task


def say_also(task: str, text: str) -> Agent:
    """Return the solution of a task with a sentence after everything that it says."""
    return solve(task, phone_say=lambda verb, call, said: verb(call, f"{said} {text}"))


def say_in_parts(verb: Any, call: Any, text: str) -> Any:
    """Override `phone.say` so that each sentence is said by itself."""
    return [verb(call, f"{part.strip()}.") for part in text.rstrip(".").split(". ")][-1]


def hold_before_telling(verb: Any, call: Any, text: str) -> Any:
    """Override `phone.say` so that the caller is on hold for ten seconds before an appointment is told."""
    if "next appointment is" in text:
        phone = verb.__self__
        phone.hold(call)
        phone.wait(call, 10)
        phone.resume(call)
    return verb(call, text)


def hear_first(verb: Any, call: Any) -> Any:
    """Override `phone.answer` so that the caller speaks first."""
    answered = verb(call)
    verb.__self__.wait(call, 1)
    return answered


def by_tool(operation: str, *names: str) -> Verb:
    """Override a method of the telephone so that its operation is called as a tool."""

    def run(verb: Any, call: Any, *values: Any) -> Any:
        arguments = {"id": call["id"], **dict(zip(names, values, strict=False))}
        reply = verb.__self__.call(operation, arguments)
        assert reply.ok, reply.refusal
        return reply.result

    return run


BY_TOOLS: dict[str, Verb] = {
    "phone_say": by_tool("say", "text"),
    "phone_hear": by_tool("hear", "seconds"),
    "phone_answer": by_tool("answer"),
    "phone_hang_up": by_tool("hang_up"),
}


def call_and_say(number: str, words: str) -> Act:
    """Return what calls a number, and says something after the beep or the greeting."""

    def act(sandboxes: Any) -> None:
        phone = sandboxes["phone"]
        call = phone.dial(number)
        phone.hear(call)
        phone.say(call, words)
        phone.hang_up(call)

    return act


# How the chart differs.


def create(type: str, **elements: Any) -> Act:
    """Return what creates a resource."""
    return lambda sandboxes: sandboxes["ehr"].create({"resourceType": type, **elements})


def change(key: str, **elements: Any) -> Act:
    """Return what changes elements of a resource."""

    def act(sandboxes: Any) -> None:
        sandboxes["ehr"].update({**sandboxes["ehr"].read(*key.split("/")), **elements})

    return act


def write_tasks(rewrite: Callable[[Resource], Resource | None]) -> Verb:
    """Override `ehr.create` so that Tasks are written in another way, or not at all."""

    def create(verb: Verb, resource: Resource) -> Any:
        written = rewrite(dict(resource))
        return None if written is None else verb(written)

    return create


def describe(*pairs: tuple[str, str]) -> Verb:
    """Override `ehr.create` so that parts of descriptions are replaced."""

    def replace(task: Resource) -> Resource:
        for old, new in pairs:
            task["description"] = task["description"].replace(old, new)
        return task

    return write_tasks(replace)


def set_in(code: str, **elements: Any) -> Verb:
    """Override `ehr.create` so that Tasks with a code have other elements; None removes one."""

    def set_elements(task: Resource) -> Resource:
        changed = {**task, **elements} if task["code"]["text"] == code else task
        return {name: value for name, value in changed.items() if value is not None}

    return write_tasks(set_elements)


def leave_out(code: str) -> Verb:
    """Override `ehr.create` so that Tasks with a code are not written."""
    return write_tasks(lambda task: None if task["code"]["text"] == code else task)
