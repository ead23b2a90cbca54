"""Regular expressions are compiled without side effects."""

import random

from clerkship.model.pattern import compile_pattern

MANY = 600
"""More than the engine's own cache holds."""


def test_compiling_many_patterns_leaves_the_global_random_generator_alone() -> None:
    before = random.getstate()
    for number in range(MANY):
        compile_pattern(f"a{number}+")
    assert random.getstate() == before
