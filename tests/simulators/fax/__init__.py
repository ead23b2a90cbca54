"""Tests of the fax simulator."""
