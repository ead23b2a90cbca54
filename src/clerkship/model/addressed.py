"""Data that is known by the hash of its bytes."""

import hashlib
from functools import cached_property

import orjson

from clerkship.model.frozen import Frozen


class Addressed(Frozen):
    """Has one byte form, and is kept by its hash."""

    @cached_property
    def data(self) -> bytes:
        """Its one byte form. Keys stand as they were written: an agent is handed them in that order, now and later."""
        return orjson.dumps(self.model_dump(mode="json"))

    @cached_property
    def hash(self) -> str:
        """Its address in the store."""
        return hashlib.sha256(self.data).hexdigest()
