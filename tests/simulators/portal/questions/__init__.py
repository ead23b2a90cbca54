"""Tests of clinical question sets."""
