"""Tests of the X12 library."""
