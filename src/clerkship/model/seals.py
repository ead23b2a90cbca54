"""The result of checking a run's seals: parts that were changed after saving, and parts that could not be checked."""

import re

from clerkship.model.frozen import Frozen

MAX_LISTED_CHANGES = 20
"""Changes that are listed in one message."""
SEAL_KEY_VARIABLE = "CLERKSHIP_SEAL_KEY"
_BLOB = re.compile("blob|snapshot|dataset")
"""Parts that are stored by their hash and shared by runs."""
_INTACT = "intact (without a key)"
_NO_SEALS = "it was saved by an older version, or its seals were removed; nothing was checked"
_UNKEYED = "anyone who can write the store could have made the seal"


class SealChange(Frozen):
    """The parts of one trial, or of the run's own record, that differ from what was saved."""

    task: str = ""
    """Empty for the run itself."""
    trial: int = 0
    attempt: int = 1
    parts: tuple[str, ...]

    def __str__(self) -> str:
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        name = f"{self.task} (trial {self.trial}{attempt})" if self.task else "the run itself"
        return f"{name}: {', '.join(self.parts)}"


class SealCheck(Frozen):
    """The result of checking a run, or a part of it, against its seals."""

    run: str
    changes: tuple[SealChange, ...] = ()
    unsealed: int = 0
    """Records without a seal in a run of an older version: the run's own and those of its trials."""
    unkeyed: int = 0
    """Seals made without a key, although a key is set."""
    locked: int = 0
    """Seals made with a key, although none is set."""
    other_key: int = 0
    """Seals made with another key than the one that is set."""
    has_key: bool = False

    @property
    def is_changed(self) -> bool:
        return bool(self.changes)

    def state(self) -> str:
        """Return the result in a few words, for a report."""
        if self.changes:
            return "CHANGED"
        if self.unsealed:
            return "none"
        if self.other_key:
            return "not checked: sealed with another key"
        if self.locked:
            return f"not checked: {SEAL_KEY_VARIABLE} is not set"
        return "intact (with a key)" if self.has_key and not self.unkeyed else _INTACT

    def remark(self) -> str:
        """Return the result for readers of a report; empty if nothing was changed and no key is set, as is usual."""
        state = self.state()
        return "" if state == _INTACT and not self.has_key else state

    def changed_trials(self) -> dict[tuple[str, int, int], str]:
        """Return the changed parts of each changed trial, by task, trial and attempt."""
        return {
            (change.task, change.trial, change.attempt): ", ".join(change.parts)
            for change in self.changes
            if change.task
        }

    def sentences(self) -> list[str]:
        """Return the changes, one line each; further ones are counted in a last line."""
        named = [str(change) for change in self.changes[:MAX_LISTED_CHANGES]]
        more = len(self.changes) - MAX_LISTED_CHANGES
        return [*named, f"… and {more:,} more"] if more > 0 else named

    def headline(self) -> str:
        """Return a sentence that the run was changed; empty if it was not."""
        if not self.changes:
            return ""
        return f"{self.run} was changed in the store after it was saved; its results cannot be trusted"

    def data(self) -> dict[str, object]:
        """Return the result as JSON data."""
        state = "changed" if self.changes else "unsealed" if self.unsealed else "intact"
        if state == "intact" and (self.locked or self.other_key or self.unkeyed):
            state = "unchecked"
        changes = [change.model_dump() for change in self.changes]
        return {"state": state, "changes": changes, "notes": self.notes()}

    def notes(self) -> list[str]:
        """Return sentences about what could not be checked, and why."""
        notes = [f"{self.run} has no seals: {_NO_SEALS}"] if self.unsealed else []
        if self.locked:
            notes.append(f"{self.run} is sealed with a key; set {SEAL_KEY_VARIABLE} to check it")
        if self.other_key:
            notes.append(f"{self.run} is sealed with another key than {SEAL_KEY_VARIABLE}; set that key to check it")
        if self.unkeyed:
            notes.append(f"{self.run} was sealed without a key, so {_UNKEYED}")
        return notes

    def advice(self) -> str:
        """Return how to run the tasks of a changed run again.

        `rerun` needs the run's record and its plan. A changed blob stays in the store under its hash, so `rerun`
        would use it; then another store is needed.
        """
        parts = [part for change in self.changes for part in change.parts if _BLOB.match(part) or not change.task]
        if all(part.startswith(("counts", "status")) for part in parts):
            return f"run the tasks again with `clerkship rerun {self.run}`"
        return "run the tasks again in another store with `clerkship run PATH --store FILE`"

    def refusal(self, advice: str = "") -> str:
        """Return why this run may not be used, and what to do; empty if it may be used.

        With a key set, every seal must be made with that key: anyone can make a seal without a key.
        """
        if self.changes:
            return f"{self.headline()}: {'; '.join(self.sentences())}; {advice or self.advice()}"
        if self.has_key and (self.unsealed or self.unkeyed or self.other_key):
            return f"{self.notes()[-1]}; unset {SEAL_KEY_VARIABLE} to use the run as it is"
        return ""
