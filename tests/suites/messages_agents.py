"""Parts of agents for `suites/messages`: mistakes beside the work of a solution."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from clerkship.sandbox.handle import Refused
from tests.suites import overridden_solutions
from tests.suites.messages_ways import MESSAGES
from tests.suites.overridden_solutions import Agent, Verb, act_after, act_before

load_solution = partial(overridden_solutions.load_solution, MESSAGES)
override_solution = partial(overridden_solutions.override_solution, MESSAGES)
Resource = dict[str, Any]
Rewrite = Callable[[str], str]
Act = Callable[[Any], object]


def do_also(name: str, more: Act, **verbs: Verb) -> Agent:
    """Return a solution after which something else is done."""
    return act_after(override_solution(name, **verbs), more)


def do_first(name: str, first: Act, **verbs: Verb) -> Agent:
    """Return a solution before which something else is done."""
    return act_before(override_solution(name, **verbs), first)


def answer_with(name: str, **changes: Any) -> Agent:
    """Return a solution that answers with other values."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        return {**load_solution(name)(task_item, sandboxes), **changes}

    return on_task


def rewrite_messages(name: str, rewrite: Rewrite, **verbs: Verb) -> Agent:
    """Return a solution whose messages have another text."""

    def send(verb: Verb, channel: str, to: Any, text: str, **fields: Any) -> Any:
        return verb(channel, to, rewrite(text), **fields)

    def reply(verb: Verb, id: str, text: str, **fields: Any) -> Any:
        return verb(id, rewrite(text), **fields)

    return override_solution(name, inbox_send=send, inbox_reply=reply, **verbs)


def add(text: str) -> Rewrite:
    """Return a way to rewrite that adds a sentence."""
    return lambda message: f"{message} {text}"


def replace(*pairs: tuple[str, str]) -> Rewrite:
    """Return a way to rewrite that replaces parts."""

    def rewrite(message: str) -> str:
        for old, new in pairs:
            message = message.replace(old, new)
        return message

    return rewrite


def send(channel: str, to: str, text: str, **fields: Any) -> Act:
    """Return what sends a message; a refusal is ignored."""

    def act(sandboxes: Any) -> None:
        with suppress(Refused):
            sandboxes["inbox"].send(channel, to, text, **fields)
        sandboxes.wait("1m")

    return act


def wait_and_send(channel: str, to: str, text: str, **fields: Any) -> Act:
    """Return what sends a message after everybody has answered."""

    def act(sandboxes: Any) -> None:
        sandboxes.wait("20m")
        send(channel, to, text, **fields)(sandboxes)

    return act


def change(key: str, **elements: Any) -> Act:
    """Return what changes elements of a resource of the chart."""

    def act(sandboxes: Any) -> None:
        sandboxes["ehr"].update({**sandboxes["ehr"].read(*key.split("/")), **elements})

    return act


def create(type: str, **elements: Any) -> Act:
    """Return what creates a resource."""
    return lambda sandboxes: sandboxes["ehr"].create({"resourceType": type, **elements})


def leave_out(*types: str) -> Verb:
    """Return a way to create that leaves out resources of some types."""
    return lambda verb, resource, *args: resource if resource["resourceType"] in types else verb(resource, *args)


def set_elements(type: str, **elements: Any) -> Verb:
    """Return a way to create or update that sets other elements in the resources of a type."""
    return lambda verb, resource, *args: verb(
        {**resource, **elements} if resource["resourceType"] == type else resource, *args
    )


def write_only(*types: str) -> Verb:
    """Return a way to send a transaction that leaves out resources of all other types."""

    def transaction(verb: Verb, bundle: Resource) -> Any:
        kept = [entry for entry in bundle["entry"] if entry["resource"]["resourceType"] in types]
        return verb({**bundle, "entry": kept})

    return transaction
