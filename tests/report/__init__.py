"""Tests of reports, with real and made-up runs."""
