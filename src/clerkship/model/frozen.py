"""The one kind of model there is: immutable, and closed to keys it does not know."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Strict

# Pydantic reads "5" as 5 and "yes" as True unless told not to; a YAML author who wrote text meant text.
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]


class Frozen(BaseModel):
    """Immutable; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def encode_model(value: object) -> object:
    """What orjson asks about and cannot see by itself: a model inside another."""
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(f"{type(value).__name__} has no place in JSON")
