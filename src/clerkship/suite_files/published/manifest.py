"""The manifest of a published version: what it contains, with the size and the SHA-256 of every entry."""

from functools import cached_property
from typing import Annotated, Literal

import orjson
from pydantic import AfterValidator, Field, ValidationError

from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.model.published import PublishedVersion
from clerkship.model.task import Benchmark

FORMAT = 1
"""The major version of the format. A program reads only archives of its own."""
MANIFEST_NAME = "manifest.json"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def is_plain_path(path: str) -> bool:
    """Return whether a path is relative and stays in its folder on every system."""
    parts = path.split("/")
    return path.isprintable() and not {"", ".", ".."} & set(parts) and "\\" not in path and ":" not in parts[0]


def _check_plain_path(path: str) -> str:
    if not is_plain_path(path):
        raise ValueError(f"the path {path[:100]!r} is not one that stays in its folder on every system")
    return path


def describe_invalid(error: ValidationError) -> str:
    """Return the first mistake in words: the keys that lead to it, and what is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))[:200]
    place = place if place.isprintable() else ascii(place)
    return f"{place}: {first['msg']}" if place else str(first["msg"])


PlainPath = Annotated[str, AfterValidator(_check_plain_path)]
PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class EntryInfo(Frozen):
    """The size and the hash of an entry."""

    size: Annotated[Whole, Field(ge=0)]
    sha256: Sha256


class TaskInfo(Frozen):
    """A task, without its content: enough to select it by name, file and tag, and to compare it."""

    name: str
    file: PlainPath
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
    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
    version: Annotated[Whole, Field(ge=1)]
    canary: str
    """A text that tells whether the benchmark was in the training data of a model. No agent is shown it."""
    grading: str
    benchmark: Benchmark
    for_agents: Flag = False
    complete: str = ""
    """The digest of the version with criteria and solutions, if this one is for agents."""
    plugins: dict[PackageName, str] = {}
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
    recordings: dict[PlainPath, str] = {}
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

    def to_version(self, digest: str) -> PublishedVersion:
        """Return what runs record of it."""
        names = ("slug", "version", "grading", "for_agents")
        return PublishedVersion(digest=digest, **{name: getattr(self, name) for name in names})
