"""A wrong solution of a task about claims that is more than changed calls."""

import re

from clerkship.plugin import override_methods


def report_last_claim(task_item, sandboxes, reference):
    """Ask without numbers and days, and take the last claim of the patient."""

    def ask_about_all(send, edi):
        edi = re.sub(r"REF\*EJ\*[^~]*~DTP\*472\*[^~]*~SE\*15", "SE*13", edi)
        before, *_, last = re.split(r"(?=TRN\*2\*)", send(edi))
        return before + last

    return reference(task_item, override_methods(sandboxes, {"clearing.send": ask_about_all}))
