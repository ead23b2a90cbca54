"""The manifest of a published version: what it contains, with the size and the SHA-256 of every entry."""

from functools import cached_property
from typing import Annotated, Literal

import orjson
from pydantic import Field

from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.model.task import Benchmark

FORMAT = 1
"""The major version of the format. A program reads only archives of its own."""
MANIFEST_NAME = "manifest.json"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class EntryInfo(Frozen):
    """The size and the hash of an entry."""

    size: Annotated[Whole, Field(ge=0)]
    sha256: Sha256


class TaskInfo(Frozen):
    """A task, without its content: enough to select it by name, file and tag, and to compare it."""

    name: str
    file: str
    """The file that it was written in, relative to the folder."""
    template: str = ""
    tags: tuple[str, ...] = ()
    environment: str
    entry: str
    variants: str = ""
    """The entry with its wrong solutions and other ways, if it has any."""
    hash: Sha256
    """The hash of the task with its environment, records and datasets, without its solutions."""


class DatasetInfo(Frozen):
    """A dataset. The SHA-256 of its entry is that by which runs refer to it."""

    name: str
    type: str
    entry: str


class Manifest(Frozen):
    """What a published version contains, and what it needs."""

    format: Literal[1] = 1
    slug: str
    version: Whole
    canary: str
    """A text that tells whether the benchmark was in the training data of a model. No agent is shown it."""
    grading: str
    benchmark: Benchmark
    for_agents: Flag = False
    complete: str = ""
    """The digest of the version with criteria and solutions, if this one is for agents."""
    plugins: dict[str, str] = {}
    """Plug-in packages that its tasks need, with their versions."""
    extras: tuple[str, ...] = ()
    """Extras of this package that its tasks need."""
    tasks: tuple[TaskInfo, ...]
    environments: dict[str, str]
    """The entry of each environment."""
    datasets: tuple[DatasetInfo, ...] = ()
    conftest: str = ""
    """The entry with the models of the evaluation, if there is a conftest."""
    prompts: dict[str, str] = {}
    """The entries of custom prompts, by the name of the built-in prompt that each replaces."""
    recordings: dict[str, str] = {}
    """The entries of cassettes and of the calibrations of judges, by path relative to the folder."""
    entries: dict[str, EntryInfo] = {}

    @cached_property
    def data(self) -> bytes:
        """The manifest as bytes, in its one form."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)

    @property
    def name(self) -> str:
        """Its name, such as `chart@1`."""
        return f"{self.slug}@{self.version}"
