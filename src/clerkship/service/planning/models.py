"""Step 4: choose the models of frozen tasks."""

from clerkship.engine.model_resolver import find_missing_person, resolve_models
from clerkship.engine.models import ModelSelection
from clerkship.model.errors import InputError
from clerkship.service.planning.freeze import FrozenTasks


def choose_models(tasks: FrozenTasks) -> ModelSelection:
    """Return the models of the judge and the person, live or from recordings.

    Raise InputError if every task has a person that only a model can play, and no model is configured. If only some
    tasks do, those trials are errored. A stored run can be repeated without a model, because that was accepted
    before.
    """
    models = resolve_models(tasks.request, tasks.settings, tasks.needs, tasks.snapshots, tasks.cassettes)
    missing = find_missing_person(models) if tasks.sources else ()
    people = [snapshot.task.people for snapshot in tasks.snapshots]
    if missing and all(any(person.needs_model for person in each) for each in people):
        raise InputError(missing[0].model_copy(update={"file": file}) for file in tasks.sources.values())
    return models
