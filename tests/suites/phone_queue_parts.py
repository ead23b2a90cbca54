"""Parts of agents for the tasks of `suites/phone` about queues and callbacks: what differs from a solution."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.suites.overridden_solutions import Agent, Verb, act_after, override_solution
from tests.suites.test_shipped import ROOT

PHONE = ROOT / "suites" / "phone"
Resource = dict[str, Any]

HOLD = "Give up on hold*"
CALLBACK = "Book a callback*"
REFILL = "Authorize a refill*"
TWO_CALLS = "Call a patient while*"
SOLUTIONS = {
    HOLD: "give_up_on_hold",
    CALLBACK: "book_a_callback",
    REFILL: "pharmacy_asks_for_npi",
    TWO_CALLS: "two_calls_at_once",
}
UNCHANGED = "Nothing else was changed in the chart"
"""The label of a criterion that every task has."""
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(PHONE, SOLUTIONS[task], **verbs)


def do_also(task: str, more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, after which something else is done."""
    return act_after(solve(task, **verbs), more)


def answer_with(task: str, **fields: Any) -> Agent:
    """Return the solution of a task with another answer."""
    return lambda task_item, sandboxes: {**solve(task)(task_item, sandboxes), **fields}


# How a call differs.


def say_for_keys(**phrases: str) -> Verb:
    """Override `phone.press` so that words are said instead: phrases for single keys (`key_0`), digits for numbers."""

    def press(verb: Any, call: Any, digits: str) -> Any:
        spoken = " ".join(WORDS[int(digit)] for digit in digits)
        return verb.__self__.say(call, phrases.get(f"key_{digits}", spoken))

    return press


def ask_again_first(verb: Any, call: Any, digits: str) -> Any:
    """Override `phone.press` so that the prompt is heard again before a key of a menu is pressed."""
    if len(digits) == 1:
        verb(call, "*")
        verb.__self__.hear(call, 20)
    return verb(call, digits)


def press_one_by_one(verb: Any, call: Any, digits: str) -> Any:
    """Override `phone.press` so that each key is a request of its own."""
    return [verb(call, digit) for digit in digits][-1]


def by_tool(operation: str, *names: str) -> Verb:
    """Override a method of the phone so that its operation is called as a tool."""

    def run(verb: Any, call: Any, *values: Any) -> Any:
        arguments = {"id": call["id"], **dict(zip(names, values, strict=False))}
        reply = verb.__self__.call(operation, arguments)
        assert reply.ok, reply.refusal
        return reply.result

    return run


BY_TOOLS: Mapping[str, Verb] = {
    "phone_press": by_tool("press", "digits"),
    "phone_hear": by_tool("hear", "seconds"),
    "phone_say": by_tool("say", "text"),
    "phone_hang_up": by_tool("hang_up"),
}


def press_instead(old: str, new: str) -> Verb:
    """Override `phone.press` so that other keys are pressed for some keys."""
    return lambda press, call, digits: press(call, new if digits == old else digits)


def rewrite_speech(change: Callable[[str], str]) -> Verb:
    """Override `phone.say` so that other words are said."""
    return lambda say, call, text: say(call, change(text))


def call_also(number: str, words: str = "") -> Callable[[Any], None]:
    """Return what calls a number after the task, and says something."""

    def call(sandboxes: Any) -> None:
        phone = sandboxes["phone"]
        made = phone.dial(number)
        if phone.hear(made)["status"] == "ended":
            return
        if words:
            phone.say(made, words)
        phone.hang_up(made)

    return call


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
