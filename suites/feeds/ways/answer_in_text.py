"""Another way to answer."""

import json


def answer_in_text(task_item, sandboxes, reference):
    """Answer with a sentence and the answer as JSON."""
    return f"All rows are done.\n```json\n{json.dumps(reference(task_item, sandboxes))}\n```"
