"""Calibration files beside scenarios, which say how far the judge can be trusted."""

import os
from pathlib import Path

from clerkship.model.calibration import Calibration, CalibrationFile
from clerkship.model.errors import InputError
from clerkship.suite_files.model_file import load_model_file
from clerkship.suite_files.source import find_evaluation_folders

CALIBRATION_FILE_NAME = "calibration.json"


def find_calibration_file(root: Path) -> Path | None:
    """Return the calibration file of a folder of scenarios: its own, or the one of the `eval` folder above it."""
    folders = [root.resolve(), *find_evaluation_folders(root)]
    return next((place / CALIBRATION_FILE_NAME for place in folders if (place / CALIBRATION_FILE_NAME).is_file()), None)


def load_calibrations(path: Path) -> tuple[Calibration, ...]:
    """Return all calibrations in a file."""
    return load_model_file(path, CalibrationFile).calibrations


def check_writable(path: Path) -> None:
    """Check that a calibration can be saved to a file. Raise InputError if not, before any model is called."""
    if path.is_dir():
        raise InputError.of(
            "it is a folder", file=str(path), hint=f"give a file, such as {path / CALIBRATION_FILE_NAME}"
        )
    if path.exists():
        load_calibrations(path)
    existing = path if path.exists() else next(folder for folder in path.absolute().parents if folder.exists())
    if not (existing == path or existing.is_dir()):
        raise InputError.of("it is not a folder", file=str(existing))
    if not os.access(existing, os.W_OK):
        raise InputError.of("it cannot be written to", file=str(existing))


def save_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration to a file. It replaces an older one of the same judge; others stay."""
    existing = load_calibrations(path) if path.exists() else ()
    others = [other for other in existing if other.judge != calibration.judge]
    every = sorted([*others, calibration], key=lambda each: each.judge.model_dump_json())
    text = CalibrationFile(calibrations=tuple(every)).model_dump_json(indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None
