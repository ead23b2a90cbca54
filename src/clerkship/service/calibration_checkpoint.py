"""Keep the answers of a calibration until it is complete, so that an interrupted one can be continued."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clerkship.engine.model_resolver import CassetteConfig, ModelRequest, open_recording
from clerkship.engine.models import ModelSelection
from clerkship.llm.contract import is_instant
from clerkship.model.calibration import JudgeIdentity
from clerkship.model.snapshot import Snapshot
from clerkship.recording.cassette import cassette_path, content_key
from clerkship.settings import Settings


@dataclass(frozen=True)
class CalibrationCheckpoint:
    """The file with the answers of an unfinished calibration, beside the store."""

    path: Path
    answers: int = 0
    """Answers of an interrupted calibration that are used."""

    def delete(self) -> None:
        """Delete the file: the calibration is complete."""
        self.path.unlink(missing_ok=True)


def rename_sources(snapshots: Iterable[Snapshot], source: str) -> tuple[Snapshot, ...]:
    """Return snapshots that all belong to one file, whose cassette has their recordings."""
    return tuple(snapshot.model_copy(update={"source": source}) for snapshot in snapshots)


def find_checkpoint(models: ModelSelection, judge: JudgeIdentity, file: Path, store: Path) -> Path | None:
    """Return the path of the checkpoint of a judge and a labelled set; None if none is needed.

    A recording keeps the answers itself, and a judge that answers at once needs no checkpoint.
    """
    if models.session.mode is not None or models.judge is None or is_instant(models.judge):
        return None
    key = content_key([judge.model_dump(mode="json"), str(file.resolve())])
    return cassette_path(store.parent / f"calibration-{key}.yml")


def open_checkpoint(
    path: Path, models: ModelSelection, request: ModelRequest, settings: Settings, snapshots: Sequence[Snapshot]
) -> tuple[ModelSelection, CalibrationCheckpoint]:
    """Return models whose answers are kept in a checkpoint, and the checkpoint.

    Answers that were invalid are asked for again.
    """
    asking = request.asking.model_copy(update={"tape": "refresh"})
    config = CassetteConfig(path.parent.parent, restarts_damaged=True)
    source = path.with_suffix(".yml").name
    session = open_recording(replace(request, asking=asking), settings, rename_sources(snapshots, source), config)
    session.identities = models.session.identities
    session.forget_failures()
    return replace(models, session=session), CalibrationCheckpoint(path, len(session.entries()))
