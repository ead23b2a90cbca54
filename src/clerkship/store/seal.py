"""Seals: digests of what was saved of a trial, of a run's record and of its end; with a key, HMACs.

A seal without a key finds accidents and careless changes. It does not stop an attacker who can write to the store,
because such an attacker can make a new seal. With a key it does, as long as the attacker does not have the key.
"""

import hashlib
import hmac
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import orjson

from clerkship.model.run import Attempt, Counts

Validity = Literal["valid", "broken", "unkeyed", "locked", "other_key"]
_FINGERPRINT = b"clerkship seal key"
_LENGTH = struct.Struct(">Q")
"""The length in front of each part."""


class SealKey:
    """Makes and verifies seals: SHA-256, or HMAC-SHA-256 with a key."""

    def __init__(self, key: str = "") -> None:
        self._key = key.encode()
        self.fingerprint = hmac.digest(self._key, _FINGERPRINT, "sha256").hex()[:16] if key else ""
        """Tells keys apart without giving them away; empty without a key."""

    def seal(self, parts: Sequence[bytes]) -> bytes:
        message = _join_parts(parts)
        if self._key:
            return hmac.digest(self._key, message, "sha256")
        return hashlib.sha256(message).digest()

    def verify(self, fingerprint: str, seal: bytes, parts: Sequence[bytes]) -> Validity:
        """Check a seal that was made with the key of this fingerprint, or without a key if it is empty."""
        if fingerprint and fingerprint != self.fingerprint:
            return "other_key" if self._key else "locked"
        maker = self if fingerprint else _UNKEYED
        if not hmac.compare_digest(maker.seal(parts), seal):
            return "broken"
        return "unkeyed" if self._key and not fingerprint else "valid"


_UNKEYED = SealKey()


def _join_parts(parts: Sequence[bytes]) -> bytes:
    """Put the length in front of each part, so that nothing can be moved from one to the next."""
    return b"".join([length + part for length, part in zip(map(_LENGTH.pack, map(len, parts)), parts, strict=True)])


def as_bytes(value: object) -> bytes:
    """Convert a value of a column to bytes, whatever type was written to it."""
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode(errors="surrogatepass")


def digest(value: object) -> bytes:
    """Return the SHA-256 digest of a value."""
    return hashlib.sha256(value if type(value) is bytes else as_bytes(value)).digest()


class ChainEnd(NamedTuple):
    """The last seal in the chain of a run's trials: each seal covers its number and the seal before it."""

    number: int = 0
    seal: bytes = b""


class TrialSeal(NamedTuple):
    """The seal of one attempt at a trial, in the order of the table's columns.

    The digests of the parts stand beside the seal, so that a check can tell which part was changed.
    """

    run: str
    task: str
    trial: int
    attempt: int
    status: str
    verdict: str | None
    agent_error: int
    record: bytes
    sidecar: bytes
    log: bytes
    snapshot: str
    blobs: str
    """Hashes of its bodies, sorted, with a space between."""
    number: int = 0
    """Its place in the order in which the trials of the run were saved, from 1; 0 without a seal."""
    before: bytes = b""
    """The seal of the trial that was saved before it; empty for the first."""
    key: str = ""
    """Fingerprint of the key it was sealed with."""
    seal: bytes = b""
    """Empty where the store has none, and the digests are kept in memory only."""

    @property
    def place(self) -> Attempt:
        return Attempt(self.task, self.trial, self.attempt)

    def parts(self) -> list[bytes]:
        """List what the seal is made over: the columns as JSON, and the digests."""
        columns = orjson.dumps((*self[:7], self.snapshot, self.blobs, self.number), default=repr)
        return [b"trial", columns, self.record, self.sidecar, self.log, as_bytes(self.before)]

    def sealed(self, key: SealKey, after: ChainEnd) -> "TrialSeal":
        """Seal it as the next trial of a chain."""
        following = _new_seal((*self[:12], after.number + 1, after.seal, key.fingerprint, b""))
        return _new_seal((*following[:15], key.seal(following.parts())))

    def changes_to(self, now: "TrialSeal") -> list[str]:
        """Name the parts of a trial that differ from this seal; its blobs are checked by their own hashes."""
        if self[4:10] == now[4:10]:
            return []
        outcomes = [(name, getattr(self, name), getattr(now, name)) for name in ("verdict", "status", "agent_error")]
        changes = [f"{name} (was {was}, is {new})" for name, was, new in outcomes if was != new]
        return changes + [name for name in ("record", "sidecar", "log") if getattr(self, name) != getattr(now, name)]


_new_seal: Callable[[Iterable[Any]], TrialSeal] = partial(tuple.__new__, TrialSeal)
"""Makes a seal from all its columns: half the time of a call of the class, which checks their names."""


def build_seal(
    columns: Sequence[Any], digests: tuple[bytes, bytes, bytes], snapshot: str = "", blobs: str = ""
) -> TrialSeal:
    """Build the seal of a trial, not sealed yet, from its columns and the digests of its record, sidecar and log."""
    return _new_seal((*columns, *digests, snapshot, blobs, 0, b"", "", b""))


class RunSeal(NamedTuple):
    """The seal of a run's own record."""

    run: str
    record: bytes
    key: str = ""
    seal: bytes = b""

    def parts(self) -> list[bytes]:
        return [b"run", as_bytes(self.run), self.record]

    def sealed(self, key: SealKey) -> "RunSeal":
        return self._replace(key=key.fingerprint, seal=key.seal(self.parts()))


class EndSeal(NamedTuple):
    """The seal of a run's end, or of its resumption: its status, its counts, and the seals of its trials so far."""

    mark: int
    run: str
    status: str
    at: str
    counts: bytes
    trials: bytes
    number: int
    """The number of the last trial that it covers."""
    key: str = ""
    seal: bytes = b""

    def parts(self) -> list[bytes]:
        return [b"end", *map(as_bytes, self[:7])]

    def sealed(self, key: SealKey) -> "EndSeal":
        return self._replace(key=key.fingerprint, seal=key.seal(self.parts()))


def trials_digest(seals: Iterable[tuple[Attempt, bytes]]) -> bytes:
    """Hash the seals of a run's trials, which come in order of task, trial and attempt; in constant memory."""
    digest = hashlib.sha256()
    for place, seal in seals:
        digest.update(_join_parts((*map(as_bytes, place), seal)))
    return digest.digest()


@dataclass
class Ledger:
    """The seals of a run, kept in memory by the process that saves its trials."""

    run: RunSeal | None = None
    trials: dict[Attempt, TrialSeal] = field(default_factory=dict)
    last: ChainEnd = field(default_factory=ChainEnd)
    """The next trial is chained to this one."""
    checked_at: int = -1
    """The store's data version when it was last compared with this ledger."""

    def add(self, seals: Iterable[TrialSeal]) -> None:
        """Add the seals of trials, in any order."""
        for seal in seals:
            self.trials[seal.place] = seal
            if seal.number > self.last.number:
                self.last = ChainEnd(seal.number, seal.seal)

    def digest(self) -> bytes:
        return trials_digest((place, self.trials[place].seal) for place in sorted(self.trials))

    def counts(self) -> Counts:
        """Count how the trials came out; of each the last attempt."""
        last = {place[:2]: self.trials[place] for place in sorted(self.trials)}
        verdicts: dict[str, int] = {}
        statuses: dict[str, int] = {}
        for trial in last.values():
            statuses[trial.status] = statuses.get(trial.status, 0) + 1
            if trial.verdict is not None:
                verdicts[trial.verdict] = verdicts.get(trial.verdict, 0) + 1
        errors = sum([bool(trial.agent_error) for trial in last.values()])
        return Counts(verdicts=verdicts, statuses=statuses, agent_errors=errors)
