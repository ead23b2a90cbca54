"""Rasa: its server and tracker, the files of its projects, its results, and drafts from its flows."""
