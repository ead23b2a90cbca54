"""Tests of the Sinch API."""
