"""The base class of all data models: immutable, and unknown keys are errors."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Strict

# Strict: by default pydantic converts "5" to 5 and "yes" to True, but quoted YAML is meant as text.
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]


class Frozen(BaseModel):
    """An immutable model. An unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def encode_model(value: object) -> object:
    """Return a nested model as a dict. This is the `default` hook for orjson, which cannot serialize models itself."""
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
