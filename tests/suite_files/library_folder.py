"""A folder for tests to write files into and load, with its problems and warnings as text."""

import os
from pathlib import Path
from textwrap import dedent

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.agent_domain import AgentCapabilities, AgentDomain
from clerkship.model.errors import InputError
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library

CATALOG = RegisteredCatalog()


class LibraryFolder:
    """A folder of files to load."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> Path:
        """Write a file, by its path in the folder."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def scenario(self, text: str, name: str = "eval/scenarios/one.yml") -> Path:
        """Write a scenario file with these lines, and with a default name and context."""
        body = dedent(text)
        head = "" if body.startswith("name:") else "name: One\n"
        head += "" if "simulation_context" in body else "simulation_context: A customer.\n"
        lines = "".join(f"  {line}\n" if line else "\n" for line in (head + body).split("\n"))
        return self.write(name, f"scenario:\n{lines}")

    def load(self, domain: AgentDomain | None = None, **capabilities: object) -> Library:
        """Return the loaded library."""
        known = AgentCapabilities.model_validate({"engine": "", "domain": domain, **capabilities})
        return load_library(self.root, CATALOG, capabilities=known)

    def lines(self, domain: AgentDomain | None = None, **capabilities: object) -> list[str]:
        """Return the problems, one line each."""
        with pytest.raises(InputError) as caught:
            self.load(domain, **capabilities)
        return self.format_problems(caught.value.problems)

    def warnings(self, domain: AgentDomain | None = None, **capabilities: object) -> list[str]:
        """Return the warnings, one line each."""
        return self.format_problems(self.load(domain, **capabilities).warnings)

    def format_problems(self, problems: object) -> list[str]:
        """Return problems as text, with paths relative to the folder."""
        assert isinstance(problems, tuple)
        return [str(problem).replace(f"{self.root}{os.sep}", "") for problem in problems]
