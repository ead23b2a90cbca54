"""Other correct ways to get an urgent request decided for one of two namesakes."""


def read_the_file(task_item, sandboxes, reference):
    """Read the rule in the folder `policies` too."""
    sandboxes["drop"].read("policies/FED-PA-001_2026.1.html")
    return reference(task_item, sandboxes)


def search_by_name(task_item, sandboxes, reference):
    """Find both namesakes by name, before the search for the birth date."""
    sandboxes["ehr"].search("Patient", name="Birchall")
    return reference(task_item, sandboxes)


def name_in_a_sentence(task_item, sandboxes, reference):
    """Name the rule with its title, and the version that it superseded; give the seconds too."""
    answer = reference(task_item, sandboxes)
    source = "Federal rule FED-PA-001, version 2026.1, which superseded version 2025.1"
    return {**answer, "source": source, "decide_by": f"{answer['decide_by']}:00-05:00"}
