"""Libraries that few tests use, and that take long to import."""

from typing import Any

import pytest


class ImportedLater:
    """A module that is imported when a test uses it; the test is skipped if it is not installed.

    The clients of three providers take 4 s and 100 MB, in each process that collects tests.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # pytest looks at every object of a test file
            raise AttributeError(name)
        return getattr(pytest.importorskip(self._name), name)


anthropic: Any = ImportedLater("anthropic")
genai: Any = ImportedLater("google.genai")
openai: Any = ImportedLater("openai")
