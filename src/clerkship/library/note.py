"""Where what is wrong, or odd, in a piece of a file is taken down."""

from typing import Protocol

from pydantic import BaseModel, ValidationError

Path = list[int | str]


class Note(Protocol):
    """Where a problem is taken down."""

    def __call__(self, path: Path, message: str, hint: str = "", *, key: bool = False) -> None:
        """One problem at a path inside the piece."""
        ...


class NoteAll(Protocol):
    """Where a model's complaints are taken down."""

    def __call__(self, error: ValidationError, model: type[BaseModel], path: Path) -> None:
        """All of an error's problems, below a path inside the piece."""
        ...
