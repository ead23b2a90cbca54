"""A stopwatch that other threads can read while it runs."""

from collections.abc import Callable


class Stopwatch:
    """Measures the total time spent inside its `with` blocks; any thread may read it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._state: tuple[float, float | None] = (0.0, None)
        """The total before, and since when it runs: one tuple, so that other threads read a consistent state."""

    def __enter__(self) -> None:
        """Start; inside another `with` block it continues."""
        total, since = self._state
        self._state = (total, self._clock() if since is None else since)

    def __exit__(self, *why: object) -> None:
        total, since = self._state
        self._state = (total + (self._clock() - since if since is not None else 0.0), None)

    @property
    def seconds(self) -> float:
        """The total so far."""
        total, since = self._state
        return total if since is None else total + (self._clock() - since)
