"""Wrong solutions of several tasks."""

ALLERGY = "alg-0099-aspirin"


def delete_and_restore(task_item, sandboxes, reference):
    """Delete a record of an allergy after the work, and restore it."""
    answer = reference(task_item, sandboxes)
    allergy = sandboxes["ehr"].read("AllergyIntolerance", ALLERGY)
    sandboxes["ehr"].delete("AllergyIntolerance", ALLERGY)
    sandboxes["ehr"].update(allergy)
    return answer
