"""A real model, if a tiny one, plays and judges: a hundred megabytes and minutes, so only with `make test-model`."""
