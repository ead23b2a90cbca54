"""Wrong solutions of the task about a denial for the place of service."""

from clerkship.plugin import override_methods

DENIAL = "R407713519"
HEARD = (
    "How can I help you? The reason on file is: The place of service. The reference number is R, 4, 0, 7, 7, 1, 3, 5, "
    "1, 9. Please fax clinical records to 5, 5, 5, 0, 1, 7, 7, 1, 0, 2. Is there anything else?"
)


def call_afterwards(task_item, sandboxes, reference):
    """File the request with what the portal says of the denial, and call when all is done."""
    silent = {
        "phone.dial": lambda original, number: "call-1",
        "phone.listen": lambda original, call: HEARD,
        "phone.say": lambda original, call, text: None,
        "phone.show_call": lambda original, call: {"status": "ended"},
    }
    answer = reference(task_item, override_methods(sandboxes, silent))
    try:
        reference(task_item, override_methods(sandboxes, {"portal.sign_in": _stop}))
    except _Stopped:
        return answer
    return None


def do_not_ask(task_item, sandboxes, reference):
    """Ask on the telephone for the number of the fax only, and read the reason on the portal."""
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open(f"/requests/{DENIAL}")

    def say(original, call, text):
        return original(call, "Which fax number do we use?" if "Why was" in text else text)

    def listen(original, call):
        denial = HEARD.partition("? ")[2].partition(" Please")[0]
        return original(call).replace("How can I help", f"{denial} How can I help")

    return reference(task_item, override_methods(sandboxes, {"phone.say": say, "phone.listen": listen}))


def appeal_too(task_item, sandboxes, reference):
    """Appeal against the denial first."""
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open(f"/requests/{DENIAL}/appeal")
    portal.send("File the appeal", {"reason": "The place of service was a mistake of ours."})
    return reference(task_item, sandboxes)


def invent_a_reason(task_item, sandboxes, reference):
    """Answer that the diagnosis was wrong."""
    return {**reference(task_item, sandboxes), "reason": "diagnosis"}


def confuse_the_numbers(task_item, sandboxes, reference):
    """Answer with the number of the new request twice."""
    answer = reference(task_item, sandboxes)
    return {**answer, "earlier": answer["reference"]}


def give_up(task_item, sandboxes, reference):
    """Stop after the call, and say that it was denied."""
    try:
        reference(task_item, override_methods(sandboxes, {"portal.sign_in": _stop}))
    except _Stopped:
        return {"status": "denied", "reference": DENIAL, "number": None, "valid_to": None, "earlier": DENIAL}
    return None


class _Stopped(Exception):
    """Raised where a solution is to stop."""


def _stop(original, *args, **fields):
    raise _Stopped
