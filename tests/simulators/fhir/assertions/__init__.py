"""Tests of the criteria on a chart."""
