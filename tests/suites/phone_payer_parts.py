"""Parts of agents for the tasks of `suites/phone` about provider lines of payers: what differs from a solution."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.suites.overridden_solutions import Agent, Verb, act_after, override_solution
from tests.suites.test_shipped import ROOT

PHONE = ROOT / "suites" / "phone"
CEDAR, HARBORLIGHT = "+18005550142", "+18005550143"
STATUS = "Ask by telephone about an authorization"
CLAIM = "Ask about a claim with a note*"
MENUS = "Extend an authorization on a line*"
REVIEW = "Ask a representative for a review*"
SOLUTIONS = {
    STATUS: "authorization_status",
    CLAIM: "wrong_birth_date_once",
    MENUS: "menu_changed",
    REVIEW: "representative_reference",
}
Resource = dict[str, Any]


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(PHONE, SOLUTIONS[task], **verbs)


def do_also(task: str, more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, after which something else is done."""
    return act_after(solve(task, **verbs), more)


def answer_with(task: str, **fields: Any) -> Agent:
    """Return the solution of a task with another answer."""
    return lambda task_item, sandboxes: {**solve(task)(task_item, sandboxes), **fields}


def claim_without_calling(**answer: Any) -> Agent:
    """Return an agent that only answers."""
    return lambda task_item, sandboxes: answer


# How a call differs.


def get_phone(verb: Verb) -> Any:
    """Return the telephone of a method that is overridden."""
    return verb.__self__  # type: ignore[attr-defined]


def change_keys(old: str, new: str, place: int = 1) -> Verb:
    """Override `phone.press` so that other keys are pressed when these would be pressed for the nth time in a call."""

    def press(verb: Verb, call: Any, digits: str) -> Any:
        pressed = [part["pressed"] for part in get_phone(verb).show_call(call)["turns"] if "pressed" in part]
        return verb(call, new if digits == old and pressed.count(old) == place - 1 else digits)

    return press


def say_entries(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that numbers are said, digit by digit; keys of menus are pressed."""
    return press(call, digits) if len(digits) == 1 else get_phone(press).say(call, " ".join(digits))


def say_dates(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that dates are said with the name of the month."""
    if len(digits) != 8:
        return press(call, digits)
    words = datetime.strptime(digits, "%m%d%Y").strftime("%B %d, %Y")
    return get_phone(press).say(call, words)


def choose_by_words(task: str, *phrases: str) -> Agent:
    """Return the solution of a task that says these phrases where it would press a key of a menu."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        left = list(phrases)

        def press(verb: Verb, call: Any, digits: str) -> Any:
            return get_phone(verb).say(call, left.pop(0)) if len(digits) == 1 else verb(call, digits)

        return solve(task, phone_press=press)(task_item, sandboxes)

    return on_task


def err_first(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that a choice that does not exist is pressed first."""
    if len(digits) == 1:
        press(call, "8")
        get_phone(press).listen(call)
    return press(call, digits)


def hear_again(press: Verb, call: Any, digits: str) -> Any:
    """Override `phone.press` so that each question is heard a second time."""
    press(call, "*")
    get_phone(press).listen(call)
    return press(call, digits)


def say_before_hanging_up(words: str) -> Verb:
    """Override `phone.hang_up` so that something is said first."""

    def hang_up(verb: Verb, call: Any) -> Any:
        get_phone(verb).say(call, words)
        get_phone(verb).listen(call)
        return verb(call)

    return hang_up


def press_before_hanging_up(*keys: str) -> Verb:
    """Override `phone.hang_up` so that keys are pressed first."""

    def hang_up(verb: Verb, call: Any) -> Any:
        for each in keys:
            get_phone(verb).press(call, each)
            get_phone(verb).listen(call)
        return verb(call) if get_phone(verb).show_call(call)["status"] != "ended" else call

    return hang_up


def call_also(number: str) -> Callable[[Any], None]:
    """Return what calls a number, and hangs up when the greeting was heard."""

    def act(sandboxes: Any) -> None:
        phone = sandboxes["phone"]
        call = phone.dial(number)
        phone.listen(call)
        phone.hang_up(call)

    return act


def call_twice_by_turns(task: str, replies: list[str]) -> Agent:
    """Return an agent that first makes a call with some replies, by key or word, hangs up, and then solves the task."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        phone = sandboxes["phone"]
        found = re.search(r"\(800\) [\d-]+", task_item["instruction"])
        assert found
        call = phone.dial(found[0])
        talk(phone, call, replies)
        phone.hang_up(call)
        return solve(task)(task_item, sandboxes)

    return on_task


def talk(phone: Any, call: Any, replies: list[str]) -> str:
    """Give a reply after each thing that is heard; return what was heard at last."""
    heard: str = phone.listen(call)
    for reply in replies:
        (phone.press if reply.isdigit() else phone.say)(call, reply)
        heard = phone.listen(call)
    return heard


# How the chart differs.


def delete_and_restore(sandboxes: Any) -> None:
    """Delete a record of an allergy, and restore it."""
    allergy = sandboxes["ehr"].read("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].delete("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].update(allergy)


def create_with(**elements: Any) -> Verb:
    """Override `ehr.create` so that the resource has other elements; None removes one."""

    def create(verb: Verb, resource: Resource) -> Any:
        return verb({key: value for key, value in {**resource, **elements}.items() if value is not None})

    return create


def put_with_own_id(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create` so that the resource is put with an id of ours."""
    return create.__self__.update(  # type: ignore[attr-defined]
        {**resource, "id": "review-by-phone"}
    )


def try_birth_dates(*dates: str) -> Agent:
    """Return the solution of the task about a claim that tries these birth dates before that of the chart."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        left = list(dates)

        def search(verb: Verb, type: str, **parameters: Any) -> Any:
            resources = verb(type, **parameters)
            if type == "Patient" and left:
                return [{**resources[0], "birthDate": left.pop(0)}]
            return resources

        return solve(CLAIM, ehr_search=search)(task_item, sandboxes)

    return on_task
