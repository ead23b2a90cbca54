"""Tests of the generic assertions, one module per assertion."""
