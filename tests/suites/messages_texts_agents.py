"""Wrong and other correct solutions of the tasks on text messages of `suites/messages`."""

from tests.suites.messages_ways import Mistake, Solve

WRONG: list[Mistake] = []
RIGHT: dict[str, tuple[str, Solve]] = {}
