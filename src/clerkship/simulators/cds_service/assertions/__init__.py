"""Assertions about calls of CDS services."""
