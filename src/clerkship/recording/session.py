"""Record or replay a run: the cassettes of its tasks, which entries were used and added, what is redacted."""

import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from clerkship.kit.command_option import REFRESH_HINT
from clerkship.kit.text import replace_surrogates
from clerkship.kit.wall import monotonic
from clerkship.model.errors import ClerkshipError, InputError, InputProblem
from clerkship.model.frozen import Frozen
from clerkship.model.model_choice import ModelChoice
from clerkship.model.redaction import MIN_EXACT_LENGTH, NO_REDACTION, Redactor, map_texts
from clerkship.model.run import TaskRun
from clerkship.model.run_options import RecordingMode
from clerkship.model.usage import Role
from clerkship.recording.cassette import (
    Cassette,
    CassetteEntry,
    CassetteFailed,
    DamagedCassette,
    RecordedMessage,
    RecordedModelCall,
    RecordedQuestion,
    RecordedTurn,
    TrialKey,
    content_key,
)

_RUN_SPECIFIC = (
    ("clk_", re.compile(r"clk_(?:sbx|ses|oat|mdl)_[A-Za-z0-9_-]{43}"), "[token]"),
    ("/pg-", re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):\d+/pg-[0-9a-f]{16}"), "[address]/[playground]"),
    ("pg-", re.compile(r"\bpg-[0-9a-f]{16}\b"), "[playground]"),
    ("earer", re.compile(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/-]{16,}=*"), r"\1 [token]"),
    ("asic ", re.compile(r"(?i)\b(basic)\s+[A-Za-z0-9+/]{16,}=*"), r"\1 [token]"),
)
"""What differs in every run, and credentials of any issuer: a text that is searched for first, because that is fast,
the pattern, and what replaces it."""
_REFERENCE = re.compile(r"(\$+)\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MODEL_ADDRESS = re.compile(r"/models/\[trial\]/(\w+)")
AGENT_CALLS = "agent calls"
"""The role of the agent's own model calls."""
SAVE_EVERY = 5.0
"""Seconds between saves."""


class CassetteRedactor(NamedTuple):
    """Redacts what is recorded, and restores this machine's values in what is replayed."""

    names: Mapping[str, str] = {}
    """The values of variables, by name. Each is written as `${NAME}`, and put back."""
    secrets: Redactor = NO_REDACTION
    """Replaces values that are not put back."""

    def with_names(self, names: Mapping[str, str]) -> "CassetteRedactor":
        """Return a redactor that knows more variables."""
        return self._replace(names={**self.names, **names}) if names else self

    def hide(self, data: Any) -> Any:
        """Redact every text in plain data."""
        return map_texts(data, self._hidden)

    def show(self, data: Any) -> Any:
        """Restore the values of variables; labels of credentials stay."""
        return map_texts(data, self._shown) if self.names else data

    def _hidden(self, text: str) -> str:
        text = self.secrets.text(self._named(replace_surrogates(text)))
        for sign, pattern, instead in _RUN_SPECIFIC:
            if sign in text:
                text = pattern.sub(instead, text)
        return text

    def _named(self, text: str) -> str:
        """Replace values by names.

        The dollars of a text that itself looks like `${NAME}` are doubled, and so are those before a name: an odd
        number of dollars means a value.
        """
        if not self.names:
            return text
        pattern, names = _value_pattern(tuple(self.names.items()))

        def written(match: "re.Match[str]") -> str:
            dollars, ours, theirs = match.groups()
            return f"{dollars * 2}${{{names[ours]}}}" if ours else f"{dollars * 2}{{{theirs}}}"

        return pattern.sub(written, text)

    def _shown(self, text: str) -> str:
        def value(match: "re.Match[str]") -> str:
            dollars, name = match.groups()
            half = "$" * (len(dollars) // 2)
            if len(dollars) % 2 == 0:
                return f"{half}{{{name}}}"
            return half + (self.names.get(name) or f"${{{name}}}")

        return _REFERENCE.sub(value, text) if "${" in text else text


@lru_cache(256)
def _value_pattern(named: tuple[tuple[str, str], ...]) -> tuple["re.Pattern[str]", dict[str, str]]:
    """Return a pattern for values, the longest first, and for texts that look like names; and the name of each value.

    A value is found as it is, as quoted in JSON, and as quoted twice.
    """
    names = {
        form: name for name, value in sorted(named) if len(value) >= MIN_EXACT_LENGTH for form in _quoted_forms(value)
    }
    values = "|".join(re.escape(form) for form in sorted(names, key=lambda form: (-len(form), form))) or "(?!)"
    return re.compile(rf"(\$*)(?:({values})|(?<=\$)\{{([A-Za-z_][A-Za-z0-9_]*)\}})"), names


def _quoted_forms(value: str) -> tuple[str, ...]:
    value = replace_surrogates(value)
    once = orjson.dumps(value).decode()[1:-1]
    return orjson.dumps(once).decode()[1:-1], once, value


class NotRecorded(ClerkshipError):
    """A replay needs an answer that is in no cassette."""


class RecordingReport(Frozen):
    """What a run recorded or replayed."""

    mode: RecordingMode
    replayed: int = 0
    """Entries that were taken from cassettes."""
    written: int = 0
    """Entries that were added."""
    dropped: int = 0
    """Stale entries that were removed."""
    forgotten: int = 0
    """Answers of invalid people, which were not recorded."""
    unused: int = 0
    """Entries of these tasks and trials that were not asked for."""
    files: tuple[str, ...] = ()
    failed: str = ""
    """Why cassettes could not be written."""
    missed: int = 0
    """Trials that needed an answer which is in no cassette."""
    first_miss: str = ""


class OpenCassette:
    """A cassette in use, with the entries that a run has used and added. Not thread-safe by itself."""

    def __init__(self, file: Cassette) -> None:
        self.file = file
        self.replaced: dict[str, CassetteEntry | None] = {}
        """The entries that this run added, by key, with those that they replaced."""
        self.ended: set[tuple[TrialKey, str]] = set()
        """Completed trials, with the roles in which they ask."""
        self.changed = False
        self._used: set[tuple[str, TrialKey]] = set()

    def use(self, entry: CassetteEntry, owner: TrialKey, *, claim: bool) -> None:
        """Mark an entry as used by a trial; with `claim`, add the trial to its owners."""
        self._used.add((entry.key, owner))
        if claim and owner not in entry.of:
            owners = tuple(sorted({*entry.of, owner}))
            self.file.entries[entry.key] = entry.model_copy(update={"of": owners})
            self.changed = True

    def used_by(self, owner: TrialKey) -> set[str]:
        """Return the keys of the entries that a trial has used."""
        return {key for key, user in self._used if user == owner}

    def put(self, entry: CassetteEntry, owner: TrialKey) -> None:
        """Add an entry, or replace one with the same key; the owners of the old entry are kept."""
        before = self.file.entries.get(entry.key)
        self.replaced.setdefault(entry.key, before)
        if before is not None:
            entry = entry.model_copy(update={"of": tuple(sorted({*before.of, *entry.of}))})
        self.file.entries[entry.key] = entry
        self._used.add((entry.key, owner))
        self.changed = True

    def forget_person(self, owner: TrialKey) -> int:
        """Remove the entries that this run added for a trial's person; return how many."""
        added = [(key, self.file.entries[key]) for key in self.replaced]
        mine = [
            key for key, one in added if isinstance(one, RecordedQuestion) and one.role == "person" and owner in one.of
        ]
        for key in mine:
            before = self.replaced.pop(key)
            if before is None:
                del self.file.entries[key]
            else:
                self.file.entries[key] = before
        self.changed = self.changed or bool(mine)
        return len(mine)

    def drop_stale(self, known: Collection[str] | None, trials: int | None) -> int:
        """Remove entries that completed trials did not use, or of missing tasks and trials beyond the last; return how
        many.
        """
        dropped = 0
        for key, entry in list(self.file.entries.items()) if self.ended else ():
            left = tuple(
                owner
                for owner in entry.of
                if not self.is_stale(entry, owner)
                and not self._is_beyond(entry, owner, trials)
                and (known is None or owner[0] in known)
            )
            if left == entry.of:
                continue
            self.changed = True
            if left:
                self.file.entries[key] = entry.model_copy(update={"of": left})
            else:
                del self.file.entries[key]
                dropped += 1
        return dropped

    def is_stale(self, entry: CassetteEntry, owner: TrialKey) -> bool:
        """Return whether a completed trial did not use one of its entries."""
        return (owner, role_of(entry)) in self.ended and (entry.key, owner) not in self._used

    def _is_beyond(self, entry: CassetteEntry, owner: TrialKey, trials: int | None) -> bool:
        """Return whether an entry is of a trial beyond the last one, of a task whose trials are all completed."""
        task, trial = owner
        if trials is None or trial <= trials:
            return False
        return all(((task, number), role_of(entry)) in self.ended for number in range(1, trials + 1))


def role_of(entry: CassetteEntry) -> str:
    """Return the role in which a model was asked, or the agent's name."""
    if isinstance(entry, RecordedModelCall):
        return AGENT_CALLS
    return f"agent {entry.solver}" if isinstance(entry, RecordedTurn) else entry.role


E = TypeVar("E", bound=CassetteEntry)
DescribeNearest = Callable[[Cassette, Collection[str]], str]
"""Returns how the nearest recorded entry differs from what was asked; it is given the keys that the trial has used."""


@dataclass
class RecordingSession:
    """The recording or replay of one run, shared by all threads. Without a mode, nothing is recorded or replayed."""

    mode: RecordingMode | None = None
    paths: Mapping[str, Path] = field(default_factory=dict)
    """The cassette of each task."""
    identities: Mapping[Role, ModelChoice] = field(default_factory=dict)
    """The model of each role, as cassettes name it: the same on every machine."""
    redactor: CassetteRedactor = field(default_factory=CassetteRedactor)
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The values of the environment variables that each task uses."""
    restarts_damaged: bool = False
    """Whether a damaged cassette, or one of another version, is replaced instead of refused."""

    def __post_init__(self) -> None:
        self.solver = ""
        """The agent that is recorded or replayed, if any."""
        self.roles: Mapping[str, Sequence[Role]] = {}
        """The roles in which each task asks, whether or not a question comes up."""
        self.warnings: list[InputProblem] = []
        self._lock = threading.RLock()
        self._asking: dict[str, threading.Lock] = {}
        self._misses: dict[TrialKey, dict[tuple[str, str], DescribeNearest]] = {}
        self._errors: dict[TrialKey, str] = {}
        self._recording_calls: set[TrialKey] = set()
        """Trials whose agents can reach a provider: the calls that they do not make any more are stale."""
        self._interrupted: set[TrialKey] = set()
        """Trials in which a model could not be reached, so that their other questions are not known."""
        self._replayed = self._dropped = self._forgotten = 0
        self._failed = ""
        self._save_at = monotonic() + SAVE_EVERY
        self._cassettes = {path: self._open(path) for path in dict.fromkeys(self.paths.values())}

    def _open(self, path: Path) -> OpenCassette:
        try:
            file = Cassette.load(path)
        except DamagedCassette as damaged:
            if not self.restarts_damaged:
                raise
            hint = "it is replaced when something is recorded"
            self.warnings += [replace(problem, hint=hint) for problem in damaged.problems]
            file = Cassette(path, path.read_bytes())
        folder = next(folder for folder in path.parents if folder.exists())
        if self.mode != "replay" and not os.access(folder, os.W_OK):
            raise InputError.of("this folder is not writable, and recordings are stored there", file=str(folder))
        return OpenCassette(file)

    @property
    def replays(self) -> bool:
        """Whether no model is asked."""
        return self.mode == "replay"

    def redactor_for(self, task: str) -> CassetteRedactor:
        """Return the redactor that also knows the variables of a task."""
        return self.redactor.with_names(self.variables.get(task, {}))

    def entries(self, trials: int | None = None) -> list[CassetteEntry]:
        """Return what is recorded for the run's tasks; with `trials`, only for that many."""
        return [
            entry
            for cassette in self._cassettes.values()
            for entry in cassette.file.entries.values()
            if any(task in self.paths and (trials is None or trial <= trials) for task, trial in entry.of)
        ]

    def providers(self) -> set[str]:
        """Return the providers that agents called, and those whose addresses they sent to a model."""
        calls = [entry for entry in self.entries() if isinstance(entry, RecordedModelCall)]
        parts = {part for call in calls for part in call.request}
        texts = (each.file.texts.get(part, "") for each in self._cassettes.values() for part in parts)
        return {call.provider for call in calls}.union(*map(_MODEL_ADDRESS.findall, texts))

    def digest(self, task: str) -> str:
        """Return the hash of a task's cassette, as it was loaded."""
        return self._cassettes[self.paths[task]].file.digest

    def _cassette(self, owner: TrialKey) -> OpenCassette:
        return self._cassettes[self.paths[owner[0]]]

    @contextmanager
    def exclusively(self, key: str) -> Iterator[None]:
        """Let one thread at a time ask a question, so that the others find its answer."""
        if self.replays:
            yield
            return
        with self._lock:
            lock = self._asking.setdefault(key, threading.Lock())
        with lock:
            yield

    def find(self, owner: TrialKey, asked: E, *, counted: bool = True) -> E | None:
        """Return what is recorded for an entry, and mark it as used; while recording everything, only if it is new."""
        with self._lock:
            cassette = self._cassette(owner)
            entry, is_new = cassette.file.entries.get(asked.key), asked.key in cassette.replaced
            if not isinstance(entry, type(asked)) or (self.mode == "record" and not is_new):
                return None
            self._replayed += counted and not is_new
            cassette.use(entry, owner, claim=not self.replays)
            return entry

    def put(
        self, owner: TrialKey, entry: CassetteEntry, texts: Iterable[str] = (), talk: Iterable[RecordedMessage] = ()
    ) -> None:
        """Add an entry with the texts and the conversation that it refers to."""
        with self._lock:
            cassette = self._cassette(owner)
            cassette.file.texts.update((content_key(text), text) for text in texts)
            cassette.file.said.update((line.key, line) for line in talk)
            cassette.put(entry, owner)

    def record_calls(self, owner: TrialKey) -> None:
        """Note that the model calls of a trial are recorded."""
        with self._lock:
            self._recording_calls.add(owner)

    def interrupt(self, owner: TrialKey) -> None:
        """Note that a trial ended before it made all its model calls, so that none of the earlier ones is stale."""
        with self._lock:
            self._interrupted.add(owner)

    def miss(self, owner: TrialKey, asked: CassetteEntry, what: str, explain: DescribeNearest) -> NotRecorded:
        """Register that a replay needs an entry that is not recorded; return the error to raise.

        Threads may miss several entries at once: `error_of` reports the first by name, not by time.
        """
        with self._lock:
            self._misses.setdefault(owner, {}).setdefault((what, asked.key), explain)
        return build_miss(owner, what)

    def refuse(self, owner: TrialKey, why: str) -> None:
        """Mark a trial as impossible to record."""
        with self._lock:
            self._errors.setdefault(owner, why)

    def error_of(self, owner: TrialKey) -> str:
        """Return which entry is missing for a trial, or why it cannot be recorded; empty if neither."""
        if owner in self._misses and owner not in self._errors:
            with self._lock:
                cassette = self._cassette(owner)
                (what, _), explain = min(self._misses[owner].items(), key=lambda item: item[0])
                where = f"in {_describe_trial(owner)}; it is not in {cassette.file.path}"
                near = explain(cassette.file, cassette.used_by(owner))
                self._errors[owner] = f"not recorded: {what}, {where}{near}\n{REFRESH_HINT}"
        return self._errors.get(owner, "")

    def trials_ended(self, task_runs: Iterable[TaskRun]) -> None:
        """Note finished trials, and save from time to time."""
        if self.mode is None:
            return
        for task_run in task_runs:
            owner = task_run.task, task_run.trial
            if task_run.status == "invalid_person":
                self.forget_person(owner)
            elif task_run.status == "completed":
                self.trial_completed(owner)
        self.save_if_due()

    def save_if_due(self) -> None:
        """Write new entries, if the last time was long enough ago."""
        if self.mode is not None and monotonic() > self._save_at:
            self.save()
            self._save_at = monotonic() + SAVE_EVERY

    def forget_failures(self) -> None:
        """Remove recorded answers that were invalid, so that they are asked for again."""
        with self._lock:
            for cassette in self._cassettes.values():
                for key, entry in [*cassette.file.entries.items()]:
                    if isinstance(entry, RecordedQuestion) and entry.failed:
                        del cassette.file.entries[key]
                        cassette.changed = True

    def trial_completed(self, owner: TrialKey) -> None:
        """Note a completed trial: entries that it did not use are stale."""
        roles = (*self.roles.get(owner[0], ()), *([f"agent {self.solver}"] if self.solver else ()))
        if owner in self._recording_calls:
            roles += (AGENT_CALLS,)
        with self._lock:
            if owner not in self._interrupted:
                self._cassette(owner).ended.update((owner, role) for role in roles)

    def forget_person(self, owner: TrialKey) -> None:
        """Remove what this run recorded for a person who broke their contract; earlier recordings stay."""
        with self._lock:
            self._forgotten += self._cassette(owner).forget_person(owner)

    def save(self) -> None:
        """Write new entries. An error is not raised, but reported at the end."""
        with self._lock:
            try:
                for _, cassette in sorted(self._cassettes.items()):
                    if cassette.changed:
                        cassette.file.save()
                        cassette.changed = False
                self._failed = ""
            except CassetteFailed as error:
                self._failed = str(error)

    def finish(
        self, *, whole: bool, known: Collection[str] | None = None, trials: int | None = None
    ) -> RecordingReport | None:
        """Save at the end of a run, and return the report.

        A complete recording (`whole`) loses stale entries: `known` are the existing tasks, `trials` is how often
        each was run.
        """
        if self.mode is None:
            return None
        with self._lock:
            if self.mode == "record" and whole:
                self._dropped += sum(one.drop_stale(known, trials) for one in self._cassettes.values())
            self.save()
            return self._report(self.mode)

    def _report(self, mode: RecordingMode) -> RecordingReport:
        cassettes = self._cassettes.values()
        unused = sum(
            one.is_stale(entry, owner) for one in cassettes for entry in one.file.entries.values() for owner in entry.of
        )
        return RecordingReport(
            mode=mode,
            replayed=self._replayed,
            written=sum(len(one.replaced) for one in cassettes),
            dropped=self._dropped,
            forgotten=self._forgotten,
            unused=unused if mode != "record" else 0,
            files=tuple(sorted(str(path) for path, one in self._cassettes.items() if one.file.entries)),
            failed=self._failed,
            missed=len(self._misses),
            first_miss=self.error_of(min(self._misses)) if self._misses else "",
        )


def build_miss(owner: TrialKey, what: str) -> NotRecorded:
    """Return the error for what a trial needs and is not recorded."""
    return NotRecorded(f"not recorded: {what}, in {_describe_trial(owner)}")


def _describe_trial(owner: TrialKey) -> str:
    return f"{owner[0]!r}, trial {owner[1]}"
