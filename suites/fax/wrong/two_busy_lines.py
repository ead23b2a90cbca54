"""Wrong solutions of the task with two busy lines."""

from clerkship.plugin import override_methods


def give_up(task_item, sandboxes, reference):
    """Post each referral once."""
    sent = {}

    def send(original, to, **fields):
        return sent.get(to) or sent.setdefault(to, original(to, **fields))

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def take_older_letter(task_item, sandboxes, reference):
    """Take the first letter of each patient."""

    def search(original, type, **parameters):
        if type != "DocumentReference":
            return original(type, **parameters)
        letters = original(type, patient=parameters["patient"], _sort="date")
        return [letter for letter in letters if letter["type"]["text"] == "Referral note"][:1]

    return reference(task_item, override_methods(sandboxes, {"ehr.search": search}))
