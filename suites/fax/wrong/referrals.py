"""Wrong solutions of the tasks with referrals."""

import re

from clerkship.plugin import override_methods


def read_three_pages(task_item, sandboxes, reference):
    """Read the first three pages, and take them for all."""
    fax = sandboxes["fax"]

    def read_text(original, id):
        texts = [fax.read_page_text(id, number) for number in (1, 2, 3)]
        return re.sub(r"PAGE (\d+)/\d+", r"PAGE \1/3", "\f".join(texts))

    return reference(task_item, override_methods(sandboxes, {"fax.read_text": read_text}))


def return_pages(task_item, sandboxes, reference):
    """Send the pages that arrived back with the request."""

    def reply(original, id, text):
        return original(id, text=text, files={"fax.tif": sandboxes["fax"].download(id, "tiff")})

    return reference(task_item, override_methods(sandboxes, {"fax.reply": reply}))


def file_separately(task_item, sandboxes, reference):
    """File each fax as a document of its own."""

    def create(original, resource):
        if resource["resourceType"] != "DocumentReference":
            return original(resource)
        pairs = zip(resource["identifier"], resource["content"], strict=True)
        return [original({**resource, "identifier": [id], "content": [content]}) for id, content in pairs]

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))


def copy_files(task_item, sandboxes, reference):
    """Copy the files, and leave them where they were."""
    drop = sandboxes["drop"]

    def rename(original, path, to):
        drop.write(to, drop.read(path))

    return reference(task_item, override_methods(sandboxes, {"drop.rename": rename}))
