"""Tests of the payer portal."""
