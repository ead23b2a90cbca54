"""Tests of the providers' APIs and connections."""
