"""Parts of files that may not have the right shape: the model that they belong to reports that."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_map(value: Any) -> dict[str, Any]:
    """Return a map as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def read_as(model: type[M], data: Any) -> M | None:
    """Return the data as a model; None if it does not fit."""
    try:
        return model.model_validate(data) if data is not None else None
    except ValidationError:
        return None
