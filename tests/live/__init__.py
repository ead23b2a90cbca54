"""Tests against real Rasa servers. They take minutes, so they only run with `make test-live`."""
