"""Recognise files of other tools, and import the package that reads them when one is found."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from clerkship.by_name import load
from clerkship.model.agent_domain import AgentDomain
from clerkship.suite_files.file_keys import TEST_KEYS
from clerkship.suite_files.library import LoadedTask
from clerkship.suite_files.yaml import YamlTree

_PACKAGE = "clerkship.rasa"
_DOMAIN_FILES = ("domain.yml", "domain.yaml", "domain")


class ForeignTests(Protocol):
    """The reader of another tool's test files."""

    def load(self, trees: Sequence[YamlTree], taken: Collection[str]) -> Iterator[LoadedTask]:
        """Yield a task for each test; report every mistake. Names in `taken` are not used again."""


def _reader(module: str) -> Any:
    return load(f"{_PACKAGE}.{module}")


def is_test_file(tree: YamlTree) -> bool:
    """Return whether a file contains tests of another tool, or definitions that several such files share."""
    is_possible = isinstance(tree.data, dict) and not (TEST_KEYS | {"llm_judge"}).isdisjoint(tree.data)
    return is_possible and bool(_reader("e2e").is_e2e(tree))


def find_unsupported_tests(tree: YamlTree) -> str:
    """Return why a test file of another tool contains nothing to load; an empty string if it does."""
    return cast(str, _reader("e2e").find_unsupported_tests(tree))


def load_test_reader() -> Callable[..., ForeignTests]:
    """Return the class that reads test files. Its arguments are a folder, a catalog, an AgentCheck and a reporter."""
    return cast(Callable[..., ForeignTests], _reader("e2e").E2eFiles)


def find_domain(path: Path) -> Path | None:
    """Return the domain of the project that a file or folder belongs to: in the same folder, or up to two above."""
    start = (path if path.is_dir() else path.parent).resolve()
    for folder in (start, *start.parents[:2]):
        for candidate in (folder / name for name in _DOMAIN_FILES):
            if candidate.exists() and _reader("domain").is_domain(candidate):
                here = Path.cwd()
                return candidate.relative_to(here) if candidate.is_relative_to(here) else candidate
    return None


def read_domain(path: Path) -> AgentDomain:
    """Read a domain from a file, or a folder of files. Raise InputError with every mistake."""
    return cast(AgentDomain, _reader("domain").read_domain(path))


def built_in_slots() -> dict[str, str]:
    """Return the slots, with their types, that agents have although their domains do not list them."""
    return cast(dict[str, str], _reader("names").BUILT_IN_SLOTS)


def is_built_in(kind: str, name: str) -> bool:
    """Return whether agents have an action, a response or a flow although their domains do not list it."""
    return bool(_reader("names").is_built_in(kind, name))
