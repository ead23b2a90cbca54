"""Assertions about the payer portal."""
