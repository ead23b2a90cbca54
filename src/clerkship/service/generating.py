"""Generate a dataset of synthetic patients, and write it to files."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import orjson

from clerkship.formats.fhir.resource import parse_key
from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError, PlatformError
from clerkship.suite_files.synthetic.generator import ReportProgress, generate_lines
from clerkship.suite_files.synthetic.lookalikes import LookAlike, list_look_alikes
from clerkship.suite_files.synthetic.times import format_instant
from clerkship.suite_files.synthetic.version import DEFAULT_NOW

BASE_URL = "https://riverbend.example/fhir/"
"""The base address of resources in a Bundle, to which their relative references resolve."""
BUNDLE, NDJSON = "bundle.json", ".ndjson"
RESOURCE_TYPES = (
    *("AllergyIntolerance", "Appointment", "Claim", "Condition", "Coverage", "DiagnosticReport", "DocumentReference"),
    *("Encounter", "Immunization", "Location", "MedicationRequest", "Observation", "Organization", "Patient"),
    *("Practitioner", "PractitionerRole", "Procedure", "Schedule", "ServiceRequest", "Slot"),
)
"""The resource types of generated datasets."""


@dataclass(frozen=True)
class GenerateRequest:
    """How many patients to generate, with which seed and at which time."""

    patients: int
    seed: int
    now: datetime = DEFAULT_NOW


@dataclass(frozen=True)
class GeneratedDataset:
    """A generated dataset, one resource per line, ordered by type and id."""

    request: GenerateRequest
    lines: tuple[bytes, ...]
    counts: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        counted = Counter(parse_key(line).partition("/")[0] for line in self.lines)
        object.__setattr__(self, "counts", dict(sorted(counted.items())))

    @property
    def digest(self) -> str:
        """The SHA-256 of the dataset as NDJSON, as `sha256sum` computes it."""
        total = hashlib.sha256()
        for piece in self.ndjson():
            total.update(piece)
        return total.hexdigest()

    @property
    def look_alikes(self) -> tuple[LookAlike, ...]:
        """The patients who are easily confused with each other."""
        return list_look_alikes(self.request.patients)

    def ndjson(self) -> Iterator[bytes]:
        """Yield the dataset as NDJSON."""
        for line in self.lines:
            yield line + b"\n"

    def bundle(self) -> Iterator[bytes]:
        """Yield the dataset as one Bundle of type collection (R4 §2.36.2)."""
        when = orjson.dumps(format_instant(self.request.now))
        yield b'{"resourceType":"Bundle","type":"collection","timestamp":' + when + b',"entry":['
        for place, line in enumerate(self.lines):
            address = orjson.dumps(BASE_URL + parse_key(line))
            yield (b"," if place else b"") + b'\n{"fullUrl":' + address + b',"resource":' + line + b"}"
        yield b"\n]}\n"


def generate_dataset(request: GenerateRequest, on_patient: ReportProgress | None = None) -> GeneratedDataset:
    """Generate a dataset; `told` is called for each patient."""
    return GeneratedDataset(request, generate_lines(request.patients, request.seed, request.now, on_patient))


def parse_now(text: str) -> datetime:
    """Parse a time with its zone. Raise InputError."""
    try:
        now = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError.of(f"{text[:60]!r} is not a time", hint=_TIME_HINT) from None
    if now.tzinfo is None:
        raise InputError.of(f"{text[:60]} has no time zone", hint=_TIME_HINT)
    return now


_TIME_HINT = "write a time with its zone, such as 2026-03-02T09:00:00-05:00"


@dataclass(frozen=True)
class OutputTarget:
    """Where to write a dataset: one file, or a folder with a file for each type."""

    target: Path
    folder: bool = False
    bundle: bool = False

    @classmethod
    def parse(cls, text: str, *, bundle: bool = False) -> "OutputTarget":
        """Parse a path: a folder if it exists as one or ends in a slash, else a file."""
        target = Path(text)
        return cls(target, target.is_dir() or text.endswith(("/", "\\")), bundle)

    def check_free(self) -> None:
        """Raise InputError if a file would be overwritten. Called before the dataset is generated, which takes long."""
        if self.folder:
            existing = sorted(self.target.glob(BUNDLE if self.bundle else f"*{NDJSON}"))
        else:
            existing = [self.target] if self.target.exists() else []
        if existing:
            names = (
                f"{existing[0]} and {len(existing) - 1} more exist" if len(existing) > 1 else f"{existing[0]} exists"
            )
            raise InputError.of(f"{names} already", hint="overwrite with --force, or choose another --out")


def save_dataset(dataset: GeneratedDataset, target: OutputTarget) -> list[Path]:
    """Write a dataset, and return its files. Files of resource types that it does not have are removed; other files
    stay.
    """
    files = _build_files(dataset, target)
    for path, pieces in files.items():
        _write(path, pieces)
    if target.folder:
        for path in {target.target / f"{type}{NDJSON}" for type in RESOURCE_TYPES} - files.keys():
            _remove(path)
    return list(files)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise PlatformError(f"{path} cannot be removed: {error.strerror}") from None


def _build_files(made: GeneratedDataset, place: OutputTarget) -> dict[Path, Iterable[bytes]]:
    target = place.target
    if place.bundle:
        return {target / BUNDLE if place.folder else target: made.bundle()}
    if not place.folder:
        return {target: made.ndjson()}
    by_type: dict[Path, Iterable[bytes]] = {}
    for type in made.counts:
        start = f"{type}/"
        by_type[target / f"{type}{NDJSON}"] = [line + b"\n" for line in made.lines if parse_key(line).startswith(start)]
    return by_type


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        write_atomically(path, pieces)
    except OSError as error:
        raise PlatformError(f"{path} cannot be written: {error.strerror}; choose another path with --out") from None
