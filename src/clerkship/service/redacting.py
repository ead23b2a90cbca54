"""What may not be shown of a run: the values of the environment variables that it uses, as they are set now."""

import orjson

from clerkship.model.redaction import MIN_SECRET, Redactor, redactor
from clerkship.model.run import BenchmarkRun
from clerkship.model.variables import names_in
from clerkship.service.frozen import snapshots_of
from clerkship.settings import variables
from clerkship.store.contract import Store


def redactor_for(store: Store, run: BenchmarkRun) -> Redactor:
    """Return the redactor for a run. The store has no values: those of variables that are not set now stay."""
    known = variables()
    return redactor({name: known[name] for name in _names(store, run) if name in known}, shortest=MIN_SECRET)


def unset_variables(store: Store, run: BenchmarkRun) -> list[str]:
    """Return the variables of a run that are not set now, so that their values cannot be recognised."""
    return sorted(_names(store, run) - variables().keys())


def _names(store: Store, run: BenchmarkRun) -> set[str]:
    names = set(run.variables or ())
    if run.variables is None and run.plan:
        names |= {name for snapshot in snapshots_of(store, run) for name in snapshot.variables()}
    for choice in (run.judge, run.person):
        if choice is not None:
            names |= names_in(orjson.dumps(choice.parameters).decode())
            names |= {choice.key_from} if choice.key_from else set()
    return names
