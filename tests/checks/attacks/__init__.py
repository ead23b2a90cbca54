"""Tests of attack strategies."""
