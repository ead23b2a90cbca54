"""Tests of loading files into model objects."""
