"""The profile of `make fuzz`: many more examples than in the ordinary run, which has Hypothesis's default."""

from hypothesis import settings

settings.register_profile("fuzz", max_examples=5000)
