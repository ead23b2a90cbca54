"""How long something has taken in all, looked at by others while it goes on."""

from collections.abc import Callable


class Stopwatch:
    """Runs while somebody is inside; any thread may read it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._state: tuple[float, float | None] = (0.0, None)
        """What there was, and since when it runs: one thing, so that nobody reads half of it."""

    def __enter__(self) -> None:
        """Begin; inside another it goes on."""
        total, since = self._state
        self._state = (total, self._clock() if since is None else since)

    def __exit__(self, *why: object) -> None:
        """Stop."""
        total, since = self._state
        self._state = (total + (self._clock() - since if since is not None else 0.0), None)

    @property
    def seconds(self) -> float:
        """All of it so far."""
        total, since = self._state
        return total if since is None else total + (self._clock() - since)
