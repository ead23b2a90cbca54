"""Wrong solutions of tasks in which the payer portal must be asked."""

ANSWERS = {
    "needed": {"needed": False, "plan": "Evergreen Senior Basic", "reference": None},
    "filed": {"filed": False, "reference": "R288751140", "status": "in review"},
    "covered": {"covered": False, "last_day": "2026-02-28", "reference": None},
    "requests": {"requests": []},
}


def answer_at_once(task_item, sandboxes, reference):
    """Give the right answer without a look."""
    return next(answer for key, answer in ANSWERS.items() if f'{{"{key}"' in task_item["instruction"])
