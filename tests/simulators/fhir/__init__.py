"""Tests of the FHIR server."""
