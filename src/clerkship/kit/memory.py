"""The interpreter's own housekeeping, where it is in the way."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """While much is made and all of it is kept, look for no garbage: there is none, and each look costs more than the
    one before."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
