"""Tests of letters as PDF files."""
