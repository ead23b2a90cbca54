"""Group questions and answers by a loop of the request."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from clerkship.formats.x12.loop import Loop

Item = TypeVar("Item")


def group_by_loop(items: Sequence[Item], get_loop: Callable[[Item], Loop]) -> list[tuple[Loop, list[Item]]]:
    """Group items that follow each other by a loop. Loops are compared by identity: two may have the same content."""
    groups = [list(group) for _, group in groupby(items, key=lambda item: id(get_loop(item)))]
    return [(get_loop(group[0]), group) for group in groups]
