"""Wrong solutions of a merge."""

from clerkship.plugin import override_methods

OPPOSITE = {"replaces": "replaced-by", "replaced-by": "replaces"}


def keep_the_double(task_item, sandboxes, reference):
    """Keep the record that should be replaced."""

    def update(original, resource):
        links = [{**link, "type": OPPOSITE[link["type"]]} for link in resource["link"]]
        return original({**resource, "active": not resource["active"], "link": links})

    return reference(task_item, override_methods(sandboxes, {"ehr.update": update}))
