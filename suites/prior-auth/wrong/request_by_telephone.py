"""Wrong solutions of the task in which a request is filed by telephone."""

from types import SimpleNamespace

from clerkship.plugin import override_methods


def skip_the_portal(task_item, sandboxes, reference):
    """Call at once, without a look at the portal."""
    closed = SimpleNamespace(status=503)
    return reference(task_item, override_methods(sandboxes, {"portal.sign_in": lambda original: closed}))


def give_up(task_item, sandboxes, reference):
    """Look at the portal, and answer that it is denied."""
    sandboxes["portal"].sign_in()
    return {"status": "denied", "reference": None, "number": None, "valid_to": None}


def send_nothing(task_item, sandboxes, reference):
    """Answer after the call, without a fax."""
    try:
        return reference(task_item, override_methods(sandboxes, {"fax.send": _stop}))
    except _Stopped:
        return {"status": "denied", "reference": None, "number": None, "valid_to": None}


def invent_a_number(task_item, sandboxes, reference):
    """Answer after the fax, without waiting for the decision."""
    try:
        return reference(task_item, override_methods(sandboxes, {"fax.status": _stop}))
    except _Stopped:
        return {"status": "approved", "reference": "R100000000", "number": "HL100000000", "valid_to": "2026-04-26"}


def file_twice(task_item, sandboxes, reference):
    """File it for the day after too, in a second call."""
    answer = reference(task_item, sandboxes)

    def say(original, call, text):
        return original(call, text.replace("2026-03-12", "2026-03-13"))

    reference(task_item, override_methods(sandboxes, {"phone.say": say, "ehr.update": _ignore}))
    return answer


class _Stopped(Exception):
    """Raised where a solution is to stop."""


def _stop(original, *args, **fields):
    raise _Stopped


def _ignore(original, resource, *args, **fields):
    return resource
