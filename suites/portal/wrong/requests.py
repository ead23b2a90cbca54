"""Wrong solutions of tasks in which a request is filed that are more than changed calls."""


def withdraw(task_item, sandboxes, reference):
    """Withdraw the request after it was filed."""
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    portal.open(f"/requests/{answer['number']}/withdraw")
    form = next(form for form in portal.page.forms if "confirm" in {**form.fields, **form.choices})
    portal.send(form.buttons[0][2], {"confirm": "yes"})
    return answer
