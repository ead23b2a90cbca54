"""Calibrations that are kept beside scenarios, so that whoever runs those knows what their judge is worth."""

import os
from pathlib import Path

from clerkship.library.model_file import load_model_file
from clerkship.library.source import find_evaluation_folders
from clerkship.model.calibration import Calibration, CalibrationFile
from clerkship.model.errors import InputError

CALIBRATION_FILE_NAME = "calibration.json"


def find_calibration_file(root: Path) -> Path | None:
    """The file that a folder of scenarios goes by: its own, or `eval/calibration.json` for `eval/scenarios` and for
    what is below."""
    folders = [root.resolve(), *find_evaluation_folders(root)]
    return next((place / CALIBRATION_FILE_NAME for place in folders if (place / CALIBRATION_FILE_NAME).is_file()), None)


def load_calibrations(path: Path) -> tuple[Calibration, ...]:
    """All that are in a file."""
    return load_model_file(path, CalibrationFile).calibrations


def check_writable(path: Path) -> None:
    """Whether one can be put into a file; raises InputError if not. It is known before anybody is asked."""
    if path.is_dir():
        raise InputError.of(
            "it is a folder", file=str(path), hint=f"name a file, such as {path / CALIBRATION_FILE_NAME}"
        )
    if path.exists():
        load_calibrations(path)
    there = path if path.exists() else next(folder for folder in path.absolute().parents if folder.exists())
    if not (there == path or there.is_dir()):
        raise InputError.of("it is no folder", file=str(there))
    if not os.access(there, os.W_OK):
        raise InputError.of("it cannot be written to", file=str(there))


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
