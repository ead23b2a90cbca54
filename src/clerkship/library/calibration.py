"""Calibrations that are kept beside scenarios, so that whoever runs those knows what their judge is worth."""

from pathlib import Path

from pydantic import ValidationError

from clerkship.library.complaint import complain
from clerkship.library.source import Folder
from clerkship.model.calibration import Calibration, CalibrationFile
from clerkship.model.problem import InputError

NAME = "calibration.json"


def beside(root: Path) -> Path | None:
    """The file that a folder of scenarios goes by: its own, or `eval/calibration.json` for `eval/scenarios`."""
    folder = root.resolve()
    folders = [folder, folder.parent] if folder.name == "scenarios" or folder.parent.name == "eval" else [folder]
    return next((place / NAME for place in folders if (place / NAME).is_file()), None)


def load_calibrations(path: Path) -> tuple[Calibration, ...]:
    """All that are in a file."""
    folder = Folder(path.parent)
    tree = folder.read(path)
    if tree is None or folder.report.problems:
        raise InputError(folder.report.sorted())
    try:
        return CalibrationFile.model_validate(tree.data).calibrations
    except ValidationError as error:
        raise InputError(find() for find in complain(error, CalibrationFile, tree, [])) from None


def save_calibration(path: Path, calibration: Calibration) -> None:
    """Put one into a file, in the place of an older one of the same judge; the others stay."""
    kept = load_calibrations(path) if path.exists() else ()
    others = [found for found in kept if found.judge != calibration.judge]
    every = sorted([*others, calibration], key=lambda found: found.judge.model_dump_json())
    text = CalibrationFile(calibrations=tuple(every)).model_dump_json(indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None
