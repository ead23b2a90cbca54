"""Wrong solutions of tasks about eligibility that are more than changed calls."""

from contextlib import suppress

from clerkship.plugin import Dropped, override_methods


def send_in_real_time(task_item, sandboxes, reference):
    """Send what belongs into a file over HTTP."""
    replies = []
    overrides = {
        "drop.write": lambda write, path, edi: replies.append(sandboxes["clearing"].send(edi)),
        "drop.list": lambda list_files, folder: ["inbound/reply"],
        "drop.read_text": lambda read, path: replies[0],
    }
    return reference(task_item, override_methods(sandboxes, overrides))


def write_file_for_each_patient(task_item, sandboxes, reference):
    """Do the work for one appointment at a time."""
    visits = sandboxes["ehr"].search("Appointment", date="2026-03-03", status="booked")
    read, not_covered = set(), {}
    for number, visit in enumerate(visits, 101):

        def search(original, type, *, visit=visit, **query):
            return [visit] if type == "Appointment" else original(type, **query)

        def write(original, path, edi, *, number=number):
            original(f"outbound/{number}.270", edi.replace("000000007", f"{number:09}"))

        def list_new(original, folder):
            paths = set(original(folder)) - read
            read.update(paths)
            return sorted(paths)

        overrides = {"ehr.search": search, "drop.write": write, "drop.list": list_new}
        not_covered |= reference(task_item, override_methods(sandboxes, overrides))["not_covered"]
    return {"asked": len(visits), "covered": len(visits) - len(not_covered), "not_covered": not_covered}


def ask_again(task_item, sandboxes, reference):
    """Ask again under another control number after a lost reply."""

    def send(original, edi):
        with suppress(Dropped):
            return original(edi)
        return original(renumber(edi))

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def send_again(task_item, sandboxes, reference):
    """Send the same interchange again after a lost reply, which is refused, and then under another control number."""

    def send(original, edi):
        with suppress(Dropped):
            original(edi)
        original(edi)
        return original(renumber(edi))

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def lose_reply(task_item, sandboxes, reference):
    """Send the question, and do not look for its lost reply."""
    with suppress(ValueError):
        reference(task_item, override_methods(sandboxes, {"clearing.interchanges": lambda original: []}))
    return {}


def renumber(edi):
    """Return an interchange under another control number (ISA13, IEA02)."""
    return edi.replace(edi[90:99], f"{int(edi[90:99]) + 500_000:09}")
