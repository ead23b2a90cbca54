"""A property that is computed once per instance."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    lazy_property = cached_property
else:

    class lazy_property(cached_property):  # noqa: N801  (used as a decorator)
        """`functools.cached_property` without the lock that it has before Python 3.12, which all instances share.

        Two threads that read it first at the same time both compute it, so the result must not depend on the thread.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
