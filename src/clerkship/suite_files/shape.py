"""Access parts of files that may have the wrong type; their models report that elsewhere."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and an empty list for anything else."""
    return value if isinstance(value, list) else []


def as_map(value: Any) -> dict[str, Any]:
    """Return a map as it is, and an empty map for anything else."""
    return value if isinstance(value, dict) else {}


def read_as(model: type[M], data: Any) -> M | None:
    """Return the data as a model; None if it is invalid."""
    try:
        return model.model_validate(data) if data is not None else None
    except ValidationError:
        return None
