"""Check a run against its seals."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson

from clerkship.model.run import Attempt, Counts
from clerkship.model.seals import SealChange, SealCheck
from clerkship.store.seal import EndSeal, Ledger, RunSeal, TrialSeal, Validity, as_bytes, digest
from clerkship.store.seal_table import BlobState, SealTable

MAX_INTACT_BLOBS = 10_000
"""Blobs known to be intact; each is hashed once as long as there are no more."""


class SealVerification:
    """One check of a run; with a ledger, against what the caller has kept in memory.

    It begins with the run's own record, and with triggers and views, which change what is read.
    """

    def __init__(self, table: SealTable, run_id: str, ledger: Ledger | None = None) -> None:
        self._table, self._run, self._ledger = table, run_id, ledger
        self._changes: dict[Attempt | None, list[str]] = {}
        self._unsealed = 0
        self._validities: Counter[Validity] = Counter()
        self._intact: set[str] = set()
        self._snapshots: dict[str, list[str]] = {}
        self._add(None, [f"the store has a {kind} `{name}`" for kind, name in table.added_code()])
        stored = table.run_seal(run_id)
        self._run_seal: RunSeal | None = ledger.run if ledger is not None else stored
        self._must_be_sealed = self._run_seal is not None or table.is_sealed(run_id)
        """Whether a missing seal is a change: the run has any seal, or its record says that it was saved with seals."""
        self._check_record(stored)

    def check_plan(self) -> None:
        """Check the plan that the run's record names."""
        plan = self._table.record_field(self._run, "plan")
        if plan and self._blob_state(plan) != "intact":
            self._add(None, ["plan"])

    def check_trials(self, task: str | None) -> None:
        """Check every trial, or those of one task."""
        seen = set[Attempt]()
        for row, sealed in self._table.trials(self._run, task):
            place = Attempt(*row[2:5])
            seen.add(place)
            self._check_trial(place, row, sealed)
        ledger = self._ledger
        gone = sorted(ledger.trials.keys() - seen) if ledger is not None else self._table.deleted(self._run, task)
        for place in gone:
            self._add(place, ["deleted"])

    def check_end(self, counts: Counts, *, with_trials: bool) -> None:
        """Check the status of a run, its counts, and that no trial is missing; `counts` are those of the store now.

        Stop at the first change: one that is named already also changes the counts and the chain.
        """
        end = self._table.end_seal(self._run)
        self._check_mark(end)
        if end is not None and not self._changes:
            self._check_ended_with(end, counts, with_trials=with_trials)
        if with_trials and not self._changes:
            self._check_chain()

    def result(self) -> SealCheck:
        return SealCheck(
            run=self._run,
            changes=tuple(_build_change(place, parts) for place, parts in self._changes.items()),
            unsealed=self._unsealed,
            unkeyed=self._validities["unkeyed"],
            locked=self._validities["locked"],
            other_key=self._validities["other_key"],
            has_key=bool(self._table.key.fingerprint),
        )

    def _check_record(self, stored: RunSeal | None) -> None:
        expected = self._run_seal
        if expected is None:
            self._add_unsealed(None, "seal (removed)")
            return
        parts = ["record"] if digest(self._table.record(self._run)) != expected.record else []
        if self._ledger is None:
            parts += self._verify(expected)
        elif stored != expected:
            parts.append("seal")
        self._add(None, parts)

    def _check_trial(self, place: Attempt, row: Any, stored: TrialSeal | None) -> None:
        expected = stored if self._ledger is None else self._ledger.trials.get(place)
        if expected is not None:
            parts = expected.changes_to(self._table.digests(row))
            parts += self._check_blobs(expected)
            parts += self._check_seal(expected, stored)
            self._add(place, parts)
        elif self._ledger is not None:
            self._add(place, ["added"])
        else:
            self._add_unsealed(place, "added, or its seal was removed")

    def _check_seal(self, expected: TrialSeal, stored: TrialSeal | None) -> list[str]:
        """Check the seal itself: as it was made, or in a run of one key not with another or without one."""
        if self._ledger is not None:
            return ["seal"] if expected.seal and stored != expected else []
        return self._check_key(expected) or self._verify(expected)

    def _check_blobs(self, sealed: TrialSeal) -> list[str]:
        states = [(blob, self._blob_state(blob)) for blob in sealed.blobs.split()]
        problems = [f"blob {blob[:12]} ({state})" for blob, state in states if state != "intact"]
        return problems + self._check_snapshot(sealed.snapshot) if sealed.snapshot else problems

    def _check_snapshot(self, address: str) -> list[str]:
        """Check the snapshot of a task, and the datasets that it names; once for all its trials."""
        if address not in self._snapshots:
            state, data = self._table.blob(address)
            problems = [f"snapshot ({state})"] if state != "intact" else []
            datasets = orjson.loads(data).get("datasets", {}) if state == "intact" else {}
            states = ((name, self._blob_state(blob)) for name, blob in datasets.items())
            problems += [f"dataset {name} ({state})" for name, state in states if state != "intact"]
            self._snapshots[address] = problems
        return self._snapshots[address]

    def _blob_state(self, address: str) -> BlobState:
        if address in self._intact:
            return "intact"
        state = self._table.blob(address)[0]
        if state == "intact":
            if len(self._intact) >= MAX_INTACT_BLOBS:
                self._intact.clear()
            self._intact.add(address)
        return state

    def _check_mark(self, end: EndSeal | None) -> None:
        """Check that the last mark of a run, which is its status, is the one that was sealed last."""
        mark = self._table.last_mark(self._run)
        if end is None:
            if self._run_seal is not None and mark is not None:
                self._add(None, [f"status ({mark[1]}, without a seal)"])
            return
        self._add(None, self._check_key(end) or self._verify(end))
        if mark is None or mark != (end.mark, end.status, end.at):
            self._add(None, [f"status (was {end.status}, is {mark[1] if mark else 'active'})"])

    def _check_ended_with(self, end: EndSeal, counts: Counts, *, with_trials: bool) -> None:
        """Check the trials that a run ended with; of one that was resumed, those that it had then."""
        ended_with = Counts.model_validate_json(end.counts)
        if end.status != "active" and ended_with != counts:
            self._add(None, [f"counts (were {_describe_counts(ended_with)}; are {_describe_counts(counts)})"])
        elif with_trials and self._table.trials_digest(self._run, end) != end.trials:
            self._add(None, ["seals of its trials"])

    def _check_chain(self) -> None:
        """Check that the trials of a run are all there, up to the last: each seal covers the one before it."""
        last = b""
        for expected, (number, before, seal) in enumerate(self._table.chain(self._run), 1):
            if (number, before) != (expected, last):
                self._add(None, [f"seals of its trials (number {expected} is missing, or not the one that was saved)"])
                return
            last = seal

    def _check_key(self, seal: TrialSeal | EndSeal) -> list[str]:
        """All seals of a run are made with one key, or all without."""
        is_alike = self._run_seal is None or seal.key == self._run_seal.key
        return [] if is_alike else ["seal (not made with the key of the run)"]

    def _verify(self, seal: TrialSeal | RunSeal | EndSeal) -> list[str]:
        validity = self._table.key.verify(seal.key, as_bytes(seal.seal), seal.parts())
        self._validities[validity] += 1
        return ["seal"] if validity == "broken" else []

    def _add(self, place: Attempt | None, parts: Iterable[str]) -> None:
        if parts:
            self._changes.setdefault(place, []).extend(parts)

    def _add_unsealed(self, place: Attempt | None, part: str) -> None:
        """Note a missing seal: a change, or no finding in a run of an older version."""
        if self._must_be_sealed:
            self._add(place, [part])
        else:
            self._unsealed += 1


def _describe_counts(counts: Counts) -> str:
    outcomes = counts.verdicts or counts.statuses
    return ", ".join(f"{number} {name}" for name, number in sorted(outcomes.items())) or "no trials"


def _build_change(place: Attempt | None, parts: list[str]) -> SealChange:
    if place is None:
        return SealChange(parts=tuple(parts))
    trial, attempt = (number if isinstance(number, int) else 0 for number in place[1:])
    return SealChange(task=str(place.task), trial=trial, attempt=attempt, parts=tuple(parts))
