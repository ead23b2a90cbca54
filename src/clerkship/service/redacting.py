"""Build the redactor of a run: it hides the values of environment variables that the run uses."""

import orjson

from clerkship.by_name import load
from clerkship.model.redaction import MIN_SECRET_LENGTH, Redactor, build_redactor
from clerkship.model.run import BenchmarkRun
from clerkship.model.variables import find_variable_names
from clerkship.settings import find_secrets, get_template_variables, load_settings
from clerkship.store.contract import Store

MIN_UNUSED_SECRET_LENGTH = 12
"""Secrets that no task uses are redacted only if they have at least this length."""


def build_run_redactor(store: Store, run: BenchmarkRun) -> Redactor:
    """Return a redactor for the variables that a run uses, and for variables with names of secrets.

    The store contains no values, so variables that are not set now cannot be redacted.
    """
    known = get_template_variables()
    used = {name: known[name] for name in _find_variable_names(store, run) if name in known}
    return build_redactor({**_find_secrets(), **used}, shortest=MIN_SECRET_LENGTH)


def uses_redacted_values(store: Store, run: BenchmarkRun) -> bool:
    """Return whether tasks of a run use variables whose values are redacted, so that these may be on fax pages."""
    known = get_template_variables()
    names = _find_variable_names(store, run) if run.variables is None else run.variables
    return any(len(known.get(name, "")) >= MIN_SECRET_LENGTH for name in names)


def build_secrets_redactor(**more: str) -> Redactor:
    """Return a redactor for variables with names of secrets, and for other values."""
    return build_redactor({**_find_secrets(), **more}, shortest=MIN_SECRET_LENGTH)


def _find_secrets() -> dict[str, str]:
    """Return secrets that no task uses but an agent may show, such as a key that a server quotes in its reply.

    Values of letters only are left out: they may be ordinary words that have nothing to do with the variable.
    """
    secrets = find_secrets(load_settings())
    return {
        name: value for name, value in secrets.items() if len(value) >= MIN_UNUSED_SECRET_LENGTH and not value.isalpha()
    }


def find_unset_variables(store: Store, run: BenchmarkRun) -> list[str]:
    """Return the variables of a run that are not set now, so that their values cannot be recognised."""
    return sorted(_find_variable_names(store, run) - get_template_variables().keys())


def _find_variable_names(store: Store, run: BenchmarkRun) -> set[str]:
    names = set(run.variables or ())
    if run.variables is None and run.plan:
        snapshots = load("clerkship.service.stored_runs:load_snapshots")(
            store, run
        )  # an old run, stored without its variables
        names |= {name for snapshot in snapshots for name in snapshot.variables()}
    names |= run.bot_format.variables if run.bot_format is not None else set()
    for choice in (run.judge, run.person):
        if choice is not None:
            names |= find_variable_names(orjson.dumps(choice.parameters).decode())
            names |= {choice.key_from} if choice.key_from else set()
    return names
