"""Generates docs/reference: prose from `pages/`, tables from the code."""
