"""Parts of agents for the tasks of `suites/phone` about calls that go wrong: what differs from a solution."""

import re
from collections.abc import Callable
from typing import Any

from tests.suites.overridden_solutions import Agent, Verb, act_after, override_solution
from tests.suites.test_shipped import ROOT

PHONE = ROOT / "suites" / "phone"
DROPPED = "Get the number of a case*"
MISHEARD = "Book a peer-to-peer call*"
CLOSED = "Call an office again*"
TRANSFER = "Tell a wrong department nothing*"
SOLUTIONS = {
    DROPPED: "dropped_call",
    MISHEARD: "misheard_digit",
    CLOSED: "closed_for_the_holiday",
    TRANSFER: "wrong_transfer",
}
DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
OTHER_LINE = "+15550177070"


class CallingStopped(Exception):
    """Raised in place of a call that an agent does not make."""


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(PHONE, SOLUTIONS[task], **verbs)


def do_also(task: str, more: Callable[[Any], object]) -> Agent:
    """Return the solution of a task, after which something else is done."""
    return act_after(solve(task), more)


def answer_with(task: str, **fields: Any) -> Agent:
    """Return the solution of a task with another answer."""
    return lambda task_item, sandboxes: {**solve(task)(task_item, sandboxes), **fields}


# What differs on the telephone.


def get_phone(verb: Verb) -> Any:
    """Return the telephone of an overridden method."""
    return verb.__self__  # type: ignore[attr-defined]


def say_digits(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that the keys are said in words."""
    return get_phone(press).say(call, " ".join(DIGIT_WORDS[int(each)] for each in digits))


def press_one_by_one(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that each key is pressed on its own."""
    return [press(call, each) for each in digits][-1]


def say_yes_or_no(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that what the line read back is confirmed or rejected in words."""
    words = {"1": "Yes, that is right.", "2": "No, that is wrong."}
    return get_phone(press).say(call, words[digits]) if digits in words else press(call, digits)


def press_late() -> Verb:
    """Override `phone.press` so that the line asks again before the first keys are pressed."""
    pressed: list[str] = []

    def press(verb: Verb, call: Any, digits: str) -> Any:
        if not pressed:
            get_phone(verb).wait(call, 8)
            get_phone(verb).hear(call)
        pressed.append(digits)
        return verb(call, digits)

    return press


def press_instead(*keys: tuple[str, str]) -> Verb:
    """Override `phone.press` so that the first time that keys are to be pressed, others are."""
    left = dict(keys)
    return lambda press, call, digits: press(call, left.get(digits, digits))


def reword(old: str, new: str) -> Verb:
    """Override `phone.say` so that what has some words in it is said in others."""
    return lambda say, call, text: say(call, new if old in text else text)


def add_words(old: str, more: str) -> Verb:
    """Override `phone.say` so that more is said after some words."""
    return lambda say, call, text: say(call, f"{text} {more}" if old in text else text)


def before_first_hang_up(act: Callable[[Any, Any], object]) -> Callable[[], Verb]:
    """Return what builds an override of `phone.hang_up`, so that something is done before the first call ends."""

    def build() -> Verb:
        calls: list[Any] = []

        def hang_up(verb: Verb, call: Any) -> Any:
            calls.append(call)
            if len(calls) == 1:
                act(get_phone(verb), call)
                if get_phone(verb).show_call(call)["status"] == "ended":
                    return call
            return verb(call)

        return hang_up

    return build


def solve_with(task: str, **builders: Callable[[], Verb]) -> Agent:
    """Return the solution of a task with methods overridden by what keeps something during one run."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        verbs = {name: build() for name, build in builders.items()}
        return solve(task, **verbs)(task_item, sandboxes)

    return on_task


def stop_after_calls(task: str, count: int, answer: Any) -> Agent:
    """Return the solution of a task that gives up after some calls, with an answer of its own."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        calls: list[str] = []

        def dial(verb: Verb, to: str) -> Any:
            calls.append(to)
            if len(calls) > count:
                raise CallingStopped
            return verb(to)

        try:
            return solve(task, phone_dial=dial)(task_item, sandboxes)
        except CallingStopped:
            return answer

    return on_task


def call_other_line(sandboxes: Any) -> None:
    """Call a number that the task does not name."""
    phone = sandboxes["phone"]
    call = phone.dial(OTHER_LINE)
    phone.hear(call)
    if phone.show_call(call)["status"] != "ended":
        phone.hang_up(call)


def call_in_vain(number: str, count: int) -> Callable[[Any], None]:
    """Return what calls a line some times, and hangs up when it answers."""

    def act(sandboxes: Any) -> None:
        phone = sandboxes["phone"]
        for _ in range(count):
            call = phone.dial(number)
            phone.hear(call)
            phone.hang_up(call)

    return act


def delete_and_restore(sandboxes: Any) -> None:
    """Delete a record of an allergy, and restore it."""
    allergy = sandboxes["ehr"].read("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].delete("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].update(allergy)


def change_instruction(task: str, old: str, new: str) -> Agent:
    """Return the solution of a task with an instruction that has other words."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        changed = re.sub(old, new, task_item["instruction"])
        assert changed != task_item["instruction"]
        return solve(task)({**task_item, "instruction": changed}, sandboxes)

    return on_task
