"""Assertions about an EHR that calls CDS services."""
