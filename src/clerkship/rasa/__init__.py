"""Rasa: its server and tracker, the files of its projects, its results, and drafts from its flows.

See docs/decisions/0017-rasa-compatibility.md.
"""
