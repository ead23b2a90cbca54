"""Tests of its criteria."""
