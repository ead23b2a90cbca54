"""The base class of all data models: immutable, and unknown keys are errors."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Strict

# Pydantic reads "5" as 5 and "yes" as True unless told not to; a YAML author who wrote text meant text.
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]


class Frozen(BaseModel):
    """An immutable model. An unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def encode_model(value: object) -> object:
    """Return a nested model as a dict. This is the `default` hook for orjson, which cannot serialize models itself."""
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(f"{type(value).__name__} has no place in JSON")
