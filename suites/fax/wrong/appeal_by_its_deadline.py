"""Wrong solutions of the appeal: other enclosures."""

from clerkship.plugin import override_methods

PAYER, THERAPIST, OTHER_THERAPIST, SHOULDER = "+15550177001", "+15550177072", "+15550177071", "+15550177073"


def enclose_no_report(task_item, sandboxes, reference):
    """Enclose only the letter."""
    return _enclose([PAYER], task_item, sandboxes, reference)


def enclose_no_letter(task_item, sandboxes, reference):
    """Enclose only the report."""
    return _enclose([THERAPIST], task_item, sandboxes, reference)


def enclose_report_of_another_patient(task_item, sandboxes, reference):
    """Enclose the report of another patient."""
    return _enclose([PAYER, OTHER_THERAPIST], task_item, sandboxes, reference)


def enclose_report_of_another_condition(task_item, sandboxes, reference):
    """Enclose the report about another condition."""
    return _enclose([PAYER, SHOULDER], task_item, sandboxes, reference)


def enclose_all_reports(task_item, sandboxes, reference):
    """Enclose both reports of the patient."""
    return _enclose([PAYER, THERAPIST, SHOULDER], task_item, sandboxes, reference)


def _enclose(senders, task_item, sandboxes, reference):
    """Enclose the last fax from each of these numbers."""
    fax = sandboxes["fax"]

    def send(original, to, text, files):
        ids = [fax.faxes(direction="inbound", address=number)[0]["id"] for number in senders]
        return original(to, text=text, files={f"{id}.tif": fax.download(id, "tiff") for id in ids})

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


REPORT = """Alder Falls Physical Therapy
Report of physical therapy: Vikram Deshmukh, M23.92
Fourteen supervised sessions in seven weeks, from January 5, 2026 to February 20, 2026. Goals not met.
Jonas Whitfield, PT"""


def type_report_again(task_item, sandboxes, reference):
    """Enclose the words of the report in place of its page."""

    def send(original, to, text, files):
        letter, _ = files
        return original(to, text=text, files={letter: files[letter], "letter.txt": REPORT.encode()})

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))
