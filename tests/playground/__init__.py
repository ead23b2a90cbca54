"""Tests of playground."""
