"""Assertions on faxes."""
