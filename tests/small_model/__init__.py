"""Tests with a real, tiny model as person and judge. They need 100 MB and minutes, so run them with `make test-model`."""
