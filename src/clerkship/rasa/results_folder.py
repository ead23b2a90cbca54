"""Write the results of a run as Rasa's evaluation does: a new folder of files."""

from contextlib import suppress
from pathlib import Path

from clerkship.kit.wall import now
from clerkship.rasa.results import FOLDER_NAME_FORMAT, RasaResults, find_results_folder
from clerkship.service.exporting import ReportFailed, read_redacted_trials
from clerkship.service.log_redaction import LogRedactor
from clerkship.service.planning.plan import get_file_time
from clerkship.service.stored_runs import load_snapshot
from clerkship.store.contract import Store

MAX_FOLDERS = 1000
"""Maximum number of folders for one second."""


def write_results(store: Store, reference: str, wanted: Path | None) -> Path:
    """Write the results into a new folder below `wanted`, or below the default folder; return the new folder."""
    run = store.run(reference)
    parent = wanted or find_results_folder(run.path)
    folder = _new_folder(parent, f"{get_file_time(run, now()):{FOLDER_NAME_FORMAT}}")
    shown = f"eval/results/{folder.name}" if parent.resolve().parts[-2:] == ("eval", "results") else folder.as_posix()
    hashes: dict[str, str] = {}
    for task_run in store.each(run.id):
        hashes.setdefault(task_run.task, task_run.snapshot)
    snapshots = {task: load_snapshot(store, digest) for task, digest in hashes.items()}
    redactor = LogRedactor(store, run)
    trials = read_redacted_trials(store, run.id, redactor)
    for name, data in RasaResults(run, snapshots, shown).render(trials, redactor.body):
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
    return folder


def _new_folder(parent: Path, name: str) -> Path:
    """Create a folder of this name; add a number if it exists, because two runs may end in the same second."""
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, MAX_FOLDERS):
        folder = parent / (name if number == 1 else f"{name}_{number}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise ReportFailed(f"{parent} has too many folders for this second")
