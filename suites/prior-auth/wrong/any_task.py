"""Wrong solutions of tasks in which an order is authorized by telephone, portal and fax."""

import re

from clerkship.plugin import override_methods

HEARD = "How can I help you? Please fax clinical records to 5, 5, 5, 0, 1, 7, 7, 1, 0, {}. Is there anything else?"
FAX_ENDINGS = {"42": "1", "43": "2", "44": "3", "45": "4", "49": "2"}
"""The end of a payer's fax number, by that of its provider line."""


def skip_the_call(task_item, sandboxes, reference):
    """Take the fax number from the list of contacts, and call nobody."""
    return reference(task_item, override_methods(sandboxes, _answer_calls(task_item)))


def call_afterwards(task_item, sandboxes, reference):
    """Call when all is done."""
    answer = skip_the_call(task_item, sandboxes, reference)
    skipped = {f"portal.{name}": lambda original, *args, **fields: None for name in ("sign_in", "open", "post", "send")}
    stopped = override_methods(sandboxes, {**skipped, "portal.sign_in": _stop})
    try:
        reference(task_item, stopped)
    except _Stopped:
        return answer
    return answer


def call_at_the_end(task_item, sandboxes, reference):
    """Do all without a call, then read all again, and call."""
    answer = skip_the_call(task_item, sandboxes, reference)
    try:
        reference(task_item, override_methods(sandboxes, {"portal.send": _stop, "fax.send": _stop}))
    except _Stopped:
        return answer
    return answer


def submit_twice(task_item, sandboxes, reference):
    """File the same request for the day after too."""
    held = {}

    def send(original, button, fields=None, files=()):
        held[button] = fields
        return original(button, fields, files)

    answer = reference(task_item, override_methods(sandboxes, {"portal.send": send}))
    day = held["add_service"]["start"]
    other = f"{day[:3]}{int(day[3:5]) + 1:02}{day[5:]}"

    def send_another_day(original, button, fields=None, files=()):
        return original(button, {**fields, "start": other, "end": other} if button == "add_service" else fields, files)

    reference(task_item, override_methods(sandboxes, {"portal.send": send_another_day, "ehr.update": _ignore}))
    return answer


def give_up(task_item, sandboxes, reference):
    """Stop after the call, and say that it was denied."""
    try:
        reference(task_item, override_methods(sandboxes, {"portal.sign_in": _stop}))
    except _Stopped:
        return {"status": "denied", "reference": None, "number": None, "valid_to": None}
    return None


def do_not_wait(task_item, sandboxes, reference):
    """Answer at once that it is approved."""

    def open_page(original, path, query=None):
        if path.startswith("/requests/"):
            raise _Stopped
        return original(path, query)

    try:
        return reference(task_item, override_methods(sandboxes, {"portal.open": open_page}))
    except _Stopped:
        return {"status": "approved", "reference": "R100000000", "number": "A100000000", "valid_to": "2026-05-15"}


def withdraw(task_item, sandboxes, reference):
    """Withdraw the request after it was approved."""
    answer = reference(task_item, sandboxes)
    sandboxes["portal"].post(f"/requests/{answer['reference']}/withdraw", {"confirm": "yes"})
    return answer


class _Stopped(Exception):
    """Raised where a solution is to stop."""


def _stop(original, *args, **fields):
    raise _Stopped


def _ignore(original, resource, *args, **fields):
    return resource


def _answer_calls(task_item):
    """Return methods of a telephone that answers without a call."""
    ending = re.search(r"\(800\) 555-01(\d\d)", task_item["instruction"])[1]
    heard = HEARD.format(FAX_ENDINGS[ending])
    return {
        "phone.dial": lambda original, number: "call-1",
        "phone.listen": lambda original, call: heard,
        "phone.say": _ignore,
        "phone.press": _ignore,
        "phone.show_call": lambda original, call: {"status": "ended"},
    }
