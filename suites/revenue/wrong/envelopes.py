"""Wrong solutions of tasks about refused files that are more than changed calls."""

from clerkship.plugin import override_methods


def send_whole_file_again(task_item, sandboxes, reference):
    """Send all sets of the file, with the corrected date."""
    text = sandboxes["drop"].read_text("outbound/eligibility-0302.x12")
    text = text.replace("20001238", "20001228").replace("000000311", "000000312")
    return reference(task_item, override_methods(sandboxes, {"clearing.send": lambda send, edi: send(text)}))


def copy_file_elsewhere(task_item, sandboxes, reference):
    """Keep a copy of the file in a folder of its own."""
    drop = sandboxes["drop"]
    drop.write("archive/eligibility-0302.x12", drop.read_text("outbound/eligibility-0302.x12"))
    return reference(task_item, sandboxes)


def send_twice(task_item, sandboxes, reference):
    """Send the interchange again under two control numbers."""

    def send(original, edi):
        original(renumber(edi))
        return original(edi)

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def send_all_files_again(task_item, sandboxes, reference):
    """Send all three files again, under new control numbers."""
    for path in ("outbound/status-0227.x12", "outbound/eligibility-0227.x12"):
        sandboxes["clearing"].send(renumber(sandboxes["drop"].read_text(path)))
    return reference(task_item, sandboxes)


def send_unchanged(task_item, sandboxes):
    """Send the file as it was, and take the refusal for an answer."""
    sandboxes["clearing"].send(sandboxes["drop"].read_text("outbound/status-0302.x12"))


def renumber(edi):
    """Return an interchange under another control number (ISA13, IEA02)."""
    return edi.replace(edi[90:99], f"{int(edi[90:99]) + 500_000:09}")
