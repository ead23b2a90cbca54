"""Tests of plug-ins."""
