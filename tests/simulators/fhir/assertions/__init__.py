"""Tests of the FHIR assertions."""
