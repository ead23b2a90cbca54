"""Label the verdict of a judge as right or wrong, in a file that `clerkship judge calibrate` reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from clerkship.assertions.judged import JudgedAssertion
from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.model.store_place import get_store_folder
from clerkship.report.judging_summary import is_judged_by_model
from clerkship.service.serving.drafts.yaml_editing import edit_yaml
from clerkship.service.serving.drafts.yaml_rendering import render_document
from clerkship.service.stored_runs import load_snapshot
from clerkship.service.task_view import find_trials
from clerkship.store.contract import Store
from clerkship.suite_files.calibration import LABELLED_KEY, is_labelled
from clerkship.suite_files.yaml import InvalidYaml, parse_yaml

LABELLED_FILE = "labelled.yml"
"""The file in the folder of the store, if no other is named."""
_HEAD = "# Verdicts of judges that people have labelled. `clerkship judge calibrate` compares judges with them.\n"


class VerdictLabel(NamedTuple):
    """Whether a person agrees with the judge on one criterion of a trial."""

    task: str
    criterion: str
    """The label of the criterion."""
    is_right: bool
    trial: int | None = None
    """By default the first that failed."""
    note: str = ""


@dataclass(frozen=True)
class LabelledVerdict:
    """What was written."""

    file: Path
    task: str
    trial: int
    criterion: str
    """The statement that was judged."""
    passed: bool
    """Whether it holds, according to the person."""


def label_verdict(store: Store, reference: str, given: VerdictLabel, file: Path | None = None) -> LabelledVerdict:
    """Write whether a person agrees with a judge. A label that the criterion has already is replaced.

    Raise InputError if no judge decided the criterion.
    """
    run = store.run(reference)
    chosen, _ = find_trials(store, run, given.task, given.trial)
    judged = _find_judged(chosen, given.criterion)
    passed, statement = judged.passed == given.is_right, _find_statement(store, chosen, judged)
    path = file or get_store_folder(store.place) / LABELLED_FILE
    label = {"criterion": statement, "passed": passed, **({"note": given.note} if given.note else {})}
    _write(path, {"run": run.id, "task": chosen.task, "trial": chosen.trial}, label)
    return LabelledVerdict(path, chosen.task, chosen.trial, statement, passed)


def _find_judged(task_run: TaskRun, name: str) -> CriterionRun:
    judged = [each for each in task_run.criteria if is_judged_by_model(each)]
    found = next((each for each in judged if each.label == name), None)
    if found is None:
        known = "; ".join(each.label for each in judged[:10])
        hint = f"judged: {known}" if known else "no judge decided a criterion of this trial"
        raise InputError.of(f"no judge decided the criterion {name[:200]!r} of {task_run.task!r}", hint=hint)
    if found.assertion != JudgedAssertion.name:
        message = f"the criterion {name[:200]!r} is one of `{found.assertion}`"
        raise InputError.of(message, hint="only criteria of `judged` can be calibrated")
    return found


def _find_statement(store: Store, task_run: TaskRun, judged: CriterionRun) -> str:
    """Return the statement that the judge was given, which the task may write apart from the label."""
    criteria = load_snapshot(store, task_run.snapshot).task.criteria
    written = next((each for each in criteria if each.label == judged.label), None)
    given = written.assertion.args if written is not None else None
    statement = given.get("statement") if isinstance(given, dict) else given
    return statement.strip() if isinstance(statement, str) else judged.label


def _write(path: Path, conversation: dict[str, Any], label: dict[str, Any]) -> None:
    """Add a label to the file; comments and all else that a person wrote in it stay."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    data = _parse(text, path)
    items = data[LABELLED_KEY] if data else []
    place = next((n for n, item in enumerate(items) if conversation.items() <= item.items()), None)
    if place is None:
        name = f"{conversation['task']}, trial {conversation['trial']} of {conversation['run']}"
        items = [*items, {"name": name, **conversation, "labels": [label]}]
    else:
        others = [each for each in items[place]["labels"] if each["criterion"].strip() != label["criterion"]]
        items = [*items[:place], items[place] | {"labels": [*others, label]}, *items[place + 1 :]]
    if data:
        written = edit_yaml(text, (LABELLED_KEY,), items, lambda edited: parse_yaml(edited, path.name).data)
    else:
        written = f"{_HEAD}{render_document({LABELLED_KEY: items})}"
    write_atomically(path, [written.encode()])


def _parse(text: str, path: Path) -> dict[str, Any] | None:
    """Return the data of the file; None if there is none yet. Raise InputError if it is no labelled set."""
    if not text.strip():
        return None
    try:
        data = parse_yaml(text, path.name).data
    except InvalidYaml as error:
        where = f"{path}:{error.line}:{error.column}"
        raise InputError.of(f"{where}: {error.message}", hint="mend it, or name another file") from None
    if not is_labelled(data) or not isinstance(data[LABELLED_KEY], list):
        raise InputError.of(f"{path} is no labelled set", hint="its top has the key `labelled` with a list")
    return cast(dict[str, Any], data)
