"""Tests of the strategies that attack suites."""
