"""Other ways to do the work of several tasks: other answers and other means."""

import json
from functools import partial

from clerkship.plugin import override_methods

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def answer_in_text(task_item, sandboxes, reference):
    """Answer with text that has the answer as a block of JSON."""
    return f"Done.\n```json\n{json.dumps(reference(task_item, sandboxes))}\n```"


def use_tools(task_item, sandboxes, reference):
    """Use the telephone by its tools instead of its methods."""

    def use(operation, names, original, call, *values):
        arguments = {"id": call["id"], **dict(zip(names, values, strict=False))}
        reply = sandboxes["phone"].call(operation, arguments)
        assert reply.ok, reply.refusal
        return reply.result

    parameters = {"press": ["digits"], "hear": ["seconds"], "say": ["text"], "answer": [], "hang_up": []}
    overrides = {f"phone.{name}": partial(use, name, names) for name, names in parameters.items()}
    return reference(task_item, override_methods(sandboxes, overrides))


def press_keys_one_by_one(task_item, sandboxes, reference):
    """Press each key by a call of its own."""

    def press(original, call, digits):
        return [original(call, digit) for digit in digits][-1]

    return reference(task_item, override_methods(sandboxes, {"phone.press": press}))


def say_keys(task_item, sandboxes, reference):
    """Say keys in words instead of pressing them."""

    def press(original, call, digits):
        return sandboxes["phone"].say(call, " ".join(DIGITS[int(digit)] for digit in digits))

    return reference(task_item, override_methods(sandboxes, {"phone.press": press}))
