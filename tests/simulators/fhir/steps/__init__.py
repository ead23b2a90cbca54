"""Tests of the FHIR steps."""
