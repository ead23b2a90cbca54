"""Assertions on the payers."""
