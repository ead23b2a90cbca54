"""Tests with a real, tiny model that is served in the process of the tests."""
