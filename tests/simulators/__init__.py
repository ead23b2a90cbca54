"""Tests of simulators."""
