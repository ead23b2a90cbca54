"""Tests of FHIR as a standard."""
