"""Load a YAML file that is one model, such as a price list."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from clerkship.model.errors import InputError
from clerkship.suite_files.source import SourceFolder
from clerkship.suite_files.validation_message import describe_validation_error

M = TypeVar("M", bound=BaseModel)


def load_model_file(path: Path, model: type[M]) -> M:
    """Load a file as a model. Raise InputError with every mistake."""
    folder = SourceFolder(path.resolve().parent)
    tree = folder.read(path)
    if tree is None or folder.report.problems:
        raise InputError(folder.report.sorted())
    try:
        return model.model_validate(tree.data)
    except ValidationError as error:
        raise InputError(find() for find in describe_validation_error(error, model, tree, [])) from None
