"""The Hypothesis profile of `make fuzz`: many more examples than the default."""

from hypothesis import settings

settings.register_profile("fuzz", max_examples=5000)
