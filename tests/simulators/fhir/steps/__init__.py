"""Tests of the steps on a chart."""
