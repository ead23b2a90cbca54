"""What a run has to do with a published version, in sentences that every output uses."""

from clerkship.by_name import load
from clerkship.model.published import PublishedVersion
from clerkship.model.run import BenchmarkRun

DIGEST_LENGTH = 12
"""Characters of a digest that are shown."""
MAX_NAMED_TASKS = 5


def describe_version(version: PublishedVersion) -> str:
    """Return the name and the start of the digest: `chart@1 · sha256:5c2c47cdaeb0`."""
    return f"{version.name} · sha256:{version.digest[:DIGEST_LENGTH]}"


def describe_published(run: BenchmarkRun, max_named: int = MAX_NAMED_TASKS) -> str:
    """Return which published version a run ran, or how its files differ from one; empty if there is none."""
    version, changed = run.published, run.changed_tasks
    if version is None:
        return ""
    if changed is None:
        return f"published {describe_version(version)}{' · for agents' if version.for_agents else ''}"
    if not changed:
        return f"the same tasks as {describe_version(version)}"
    named, more = ", ".join(changed[:max_named]), len(changed) - max_named
    listed = f": {named}{f' and {more:,} more' if more > 0 else ''}" if named else ""
    count = "1 task" if len(changed) == 1 else f"{len(changed):,} tasks"
    return f"differs from {version.name} in {count}{listed}"


def describe_grading(run: BenchmarkRun) -> str:
    """Return both grading versions and what changed between them, if a run is graded by another one than that of its
    published version; else empty.
    """
    version = run.published
    if version is None or version.grading == run.grading:
        return ""
    changes = load("clerkship.report.grading_versions:list_grading_changes")(version.grading, run.grading)
    what = "; ".join(changes) if changes is not None else "this program does not know what changed between them"
    return f"graded by version {run.grading}; {version.name} was published with {version.grading}: {what}"


def describe_owner_command(run: BenchmarkRun) -> str:
    """Return how the owner grades a run of a version for agents; empty for other runs."""
    version = run.published
    if version is None or not version.for_agents:
        return ""
    command = f"`clerkship rescore {run.id} --by {version.name}`"
    checked = "only what applies to every task was checked"
    return f"{version.name} is here without its criteria, so {checked}; its owner grades the logs: {command}"


def describe_notes(run: BenchmarkRun) -> list[str]:
    """Return what else a reader must know of a run of a published version: how it is graded, and by whom."""
    return [sentence for sentence in (describe_grading(run), describe_owner_command(run)) if sentence]


def describe_version_difference(before: BenchmarkRun, after: BenchmarkRun) -> str:
    """Return that two runs are of different versions, and of which; empty if they are of the same tasks, or if neither
    has to do with a published version.
    """
    if (before.published is None and after.published is None) or _is_same_version(before, after):
        return ""
    first, second = (describe_published(run) or "no published version" for run in (before, after))
    return f"different versions; before: {first}; after: {second}"


def _is_same_version(before: BenchmarkRun, after: BenchmarkRun) -> bool:
    """Return whether two runs are of one version, or of unchanged copies of it."""
    old, new = before.published, after.published
    if old is None or new is None or before.changed_tasks or after.changed_tasks:
        return False
    return old.digest == new.digest or (old.for_agents != new.for_agents and old.name == new.name)
