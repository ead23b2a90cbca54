"""Tests of the REST API of a payer portal."""
