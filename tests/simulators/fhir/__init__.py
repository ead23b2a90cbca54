"""Tests of the FHIR sandbox."""
