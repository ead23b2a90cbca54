"""Wrong solutions of the task about an urgent request of one of two namesakes."""

from clerkship.plugin import override_methods

NAMESAKE = {"payer": "EV004", "member_id": "EV388653636", "birth_date": "1956-06-14"}


def ask_about_the_namesake(task_item, sandboxes, reference):
    """Tell the line the birth date of the namesake first, and correct it."""
    held = []

    def say(original, call, text):
        if "Born" in text and not held:
            held.append(text)
            return original(call, "Born 1956-06-14.")
        return original(call, text)

    return reference(task_item, override_methods(sandboxes, {"phone.say": say}))


def read_the_namesake(task_item, sandboxes, reference):
    """Read the note of the namesake too."""
    sandboxes["ehr"].read("DocumentReference", "visit-of-the-namesake")
    return reference(task_item, sandboxes)


def look_up_the_namesake(task_item, sandboxes, reference):
    """Look the namesake up with the payer too."""
    sandboxes["portal"].api("POST", "/members/lookup", NAMESAKE)
    return reference(task_item, sandboxes)


def fax_both_notes(task_item, sandboxes, reference):
    """Fax the notes of both."""

    def send(original, to="", *, text=None, **fields):
        other = "Thomas Birchall\nVISIT NOTE OF 2026-02-24\nBorn 1956-06-14"
        return original(to, text=f"{text}\f{other}", **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def count_days(task_item, sandboxes, reference):
    """Count three days from the day after, as the payers' guides do for standard requests."""
    return {**reference(task_item, sandboxes), "decide_by": "2026-03-06T09:00"}


def name_the_guideline(task_item, sandboxes, reference):
    """Name the guide of another payer, which has a lower rank."""
    return {**reference(task_item, sandboxes), "source": "CM-ADM-001 2026.1"}


def name_the_old_rule(task_item, sandboxes, reference):
    """Name the version that has ended."""
    return {**reference(task_item, sandboxes), "source": "FED-PA-001 2025.1"}
