"""How many examples Hypothesis tries: few in `make test`, as many as a test asks for in `make test-all`."""

from hypothesis import HealthCheck, settings

QUICK = "quick"
"""The profile of `make test`."""
FULL = "full"
"""The profile of `make test-all`."""
MAX_QUICK_EXAMPLES = 15


def register_profiles() -> None:
    """Register both profiles, and load that of `make test`; `--hypothesis-profile` loads another one later."""
    # On a busy machine, inputs are generated slowly and tests take long; that is no defect of a test.
    settings.register_profile(FULL, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    settings.register_profile(QUICK, settings.get_profile(FULL), max_examples=MAX_QUICK_EXAMPLES)
    settings.load_profile(QUICK)


def examples(count: int, quick: int = MAX_QUICK_EXAMPLES) -> int:
    """Return how many examples a test that asks for a number of them tries under the profile in force."""
    return min(count, quick) if settings.get_current_profile_name() == QUICK else count
