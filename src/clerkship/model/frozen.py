"""The base class of all data models: immutable, and unknown keys are errors."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Strict


def _check_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("expected base64") from None
    return text


# Strict: by default pydantic converts "5" to 5 and "yes" to True, but quoted YAML is meant as text.
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Base64Text = Annotated[str, AfterValidator(_check_base64)]
"""Bytes in base64, such as a file in a step."""
_set = object.__setattr__


class Frozen(BaseModel):
    """An immutable model. An unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    omitted_when_empty: ClassVar[frozenset[str]] = frozenset()
    """Fields that `encode_model` leaves out when they are empty, so that a new field does not change what is stored."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        _forget_class_variables(cls)


def _forget_class_variables(model: type[Frozen]) -> None:
    """Drop the annotations of class variables: pydantic would evaluate them again for every subclass."""
    annotations = vars(model).get("__annotations__", {})
    for name in model.__class_vars__ & annotations.keys():
        del annotations[name]


_forget_class_variables(Frozen)


class PlacedText(Frozen):
    """A text in parts that have places, such as the words on a page. Who looks for something in it reads `text`."""

    @property
    def text(self) -> str:
        """The whole text."""
        raise NotImplementedError


M = TypeVar("M", bound=Frozen)


def build_unchecked(model: type[M], fields: dict[str, Any]) -> M:
    """Build a model from all its fields, in their order, without a check: for values that are of the right types."""
    built = model.__new__(model)
    _set(built, "__dict__", fields)
    _set(built, "__pydantic_fields_set__", set(fields))
    _set(built, "__pydantic_extra__", None)
    _set(built, "__pydantic_private__", None)
    return built


def copy_unchecked(model: M, changes: Mapping[str, Any]) -> M:
    """Copy a model with changed fields, without a check: `model_copy` in half the time."""
    return build_unchecked(type(model), {**model.__dict__, **changes})


def encode_model(value: object) -> object:
    """Return a nested model as a dict. This is the `default` hook for orjson, which cannot serialize models itself."""
    if isinstance(value, Frozen):
        omitted = value.omitted_when_empty
        if not omitted:
            return value.__dict__
        return {name: item for name, item in value.__dict__.items() if item or name not in omitted}
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
