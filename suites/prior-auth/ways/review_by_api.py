"""Other correct ways to have a denial reviewed."""

import re

from clerkship.plugin import override_methods


def read_by_api(task_item, sandboxes, reference):
    """Read the list of requests and the request by the REST API before the pages."""
    portal = sandboxes["portal"]
    for each in portal.api("GET", "/requests")["requests"]:
        portal.api("GET", f"/requests/{each['reference']}")
    return reference(task_item, sandboxes)


def press_keys(task_item, sandboxes, reference):
    """Press keys where an answer has digits alone."""

    def say(original, call, text):
        digits = re.sub(r"[ .]", "", text)
        if digits.isdigit():
            return sandboxes["phone"].press(call, f"{digits}#" if len(digits) == 1 else digits)
        return sandboxes["phone"].press(call, "3") if text.startswith("The note") else original(call, text)

    return reference(task_item, override_methods(sandboxes, {"phone.say": say}))
