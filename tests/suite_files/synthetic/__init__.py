"""Tests of the synthetic patients."""
