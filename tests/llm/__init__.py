"""Tests of models and their endpoints."""
